package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A section is a part of the page: a table, and a text that explains the table.
type section struct {
	Title, Text string
	Columns     []string

	rows   [][]string
	missed int // figures that miss their targets
}

func (s *section) add(name string, figures []figure) {
	row := []string{name}
	for _, f := range figures {
		row = append(row, f.text())
		s.missed += f.missed()
	}
	s.rows = append(s.rows, row)
}

// write writes the section as Markdown that can also be read in a terminal.
func (s *section) write(out io.Writer) error {
	rows := append([][]string{s.Columns, make([]string, len(s.Columns))}, s.rows...)
	widths := make([]int, len(s.Columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n## %s\n\n%s\n", s.Title, s.Text)
	for i, row := range rows {
		for j, cell := range row {
			fill := " "
			if i == 1 {
				fill = "-"
			}
			text.WriteString("|" + fill + cell + strings.Repeat(fill, widths[j]-utf8.RuneCountInString(cell)+1))
		}
		text.WriteString("|\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// A figure is a measured value and its upper limit. A limit of 0 or less means that there is none.
type figure struct {
	value, most float64
	isCount     bool
}

// missed returns 1 if the value exceeds the limit, rounded as in the table, else 0.
func (f figure) missed() int {
	if f.most > 0 && f.value >= f.most+0.005 {
		return 1
	}
	return 0
}

func (f figure) text() string {
	text := fmt.Sprintf("%.2f", f.value)
	switch {
	case f.isCount:
		text = fmt.Sprintf("%.0f", f.value)
	case f.value < 0.1:
		text = fmt.Sprintf("%.2g", f.value)
	}
	switch {
	case f.most <= 0:
		return text
	case f.missed() > 0:
		return fmt.Sprintf("%s MISSED, ≤ %.4g", text, f.most)
	}
	return fmt.Sprintf("%s (≤ %.4g)", text, f.most)
}
