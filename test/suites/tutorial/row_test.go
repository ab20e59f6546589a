package tutorial_test

import "fmt"

// A row is a line of a table.
type row string

// newRow returns a row with the label and the values.
func newRow(label string, values ...any) row {
	text := "| " + label + " |"
	for _, value := range values {
		text += fmt.Sprintf(" %v |", value)
	}
	return row(text + "\n")
}
