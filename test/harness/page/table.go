package page

import (
	"strings"
	"unicode/utf8"
)

// Table returns a table in Markdown with padded columns, readable as plain text. Rows are the head, a line of dashes for each
// column, and the cells. All columns but the first are aligned to the right.
func Table(rows [][]string) string {
	var text strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			text.WriteString("| " + pad(cell, width(rows, i), i > 0) + " ")
		}
		text.WriteString("|\n")
	}
	return text.String()
}

func width(rows [][]string, column int) int {
	wide := 0
	for _, row := range rows {
		wide = max(wide, utf8.RuneCountInString(row[column]))
	}
	return wide
}

func pad(cell string, wide int, right bool) string {
	fill := " "
	if strings.HasPrefix(cell, "--") {
		fill = "-"
	}
	space := strings.Repeat(fill, wide-utf8.RuneCountInString(cell))
	if right {
		return space + cell
	}
	return cell + space
}
