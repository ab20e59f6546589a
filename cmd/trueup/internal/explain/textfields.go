package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	masked = "(masked)"
	// valueLimit and pathLimit bound the columns of the table of fields, in characters.
	valueLimit, pathLimit = 60, 70
)

// managers writes each manager with its fields.
func (p *page) managers() {
	for i := range p.report.Managers {
		manager := &p.report.Managers[i]
		p.line("")
		p.line("%s", p.managerTitle(manager))
		p.table(p.rows(i))
	}
}

func (p *page) managerTitle(manager *Manager) string {
	title := fmt.Sprintf("%s, %s, %s", manager, p.when(manager.Time), fieldCount(len(manager.Fields)))
	if manager.Trueup {
		title += ", by trueup"
	}
	if manager.APIVersion != p.report.APIVersion {
		title += ", as " + manager.APIVersion
	}
	return title
}

// unowned writes the fields without an owner.
func (p *page) unowned() {
	if len(p.report.Unowned) == 0 {
		return
	}
	p.line("")
	p.line("No manager, %s", fieldCount(len(p.report.Unowned)))
	p.table(rowsOf(p.report.Unowned))
}

// A row is a line of the table of fields: a field, or a subtree.
type row struct{ mark, path, value, note string }

func rowsOf(fields []Field) []row {
	rows := make([]row, len(fields))
	for i, field := range fields {
		rows[i] = row{path: field.Path, value: describeValue(field)}
		if len(field.AlsoOwnedBy) > 0 {
			rows[i].mark, rows[i].note = "*", "also "+strings.Join(field.AlsoOwnedBy, ", ")
		}
	}
	return rows
}

// table writes rows, sorted by path, in columns. Rows with the same path keep their order.
func (p *page) table(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.path, b.path) })
	paths, values := 0, 0
	for _, row := range rows {
		paths = max(paths, min(utf8.RuneCountInString(row.path), pathLimit))
		if row.note != "" {
			values = max(values, utf8.RuneCountInString(row.value))
		}
	}
	for _, row := range rows {
		p.line("  %1s %-*s  %-*s  %s", row.mark, paths, row.path, values, row.value, row.note)
	}
}

func describeValue(field Field) string {
	switch {
	case field.Masked:
		return masked
	case field.Absent:
		return "(absent)"
	}
	return brief(field.Value)
}

// brief returns the beginning of the JSON form of a value.
func brief(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	runes := []rune(strings.TrimSuffix(text.String(), "\n"))
	if len(runes) <= valueLimit {
		return string(runes)
	}
	return string(runes[:valueLimit-1]) + "…"
}
