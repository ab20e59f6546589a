package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/trueup-go/trueup/test/harness/page"
)

// checkRows compares the results of a run with -short with the page, whose figures count every sort of
// client. Each property must have a result, and a child at most as many checks as the page has. There
// must be no further figures or exceptions.
func checkRows(ctx context.Context) error {
	return page.Compare(ctx, "conformance", compareRows)
}

func compareRows(text string) error {
	counts, err := countsOf(text)
	if err != nil {
		return err
	}
	var wrong []error
	shownOf := sums(shown.counts)
	for cell, written := range counts {
		if n := shown.counts[cell]; n > written || shownOf[cell[1]] == 0 {
			wrong = append(wrong, fmt.Errorf("%s, %s: %d on the page, %d shown", cell[0], cell[1], written, n))
		}
	}
	for cell, n := range shown.counts {
		if counts[cell] == 0 {
			wrong = append(wrong, fmt.Errorf("%s, %s: nothing on the page, %d shown", cell[0], cell[1], n))
		}
	}
	for line := range strings.Lines(exceptions()) {
		if !strings.Contains(text, line) {
			wrong = append(wrong, fmt.Errorf("not on the page: %s", strings.TrimSpace(line)))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("docs/conformance.md does not hold; make conformance writes it anew:\n%w", errors.Join(wrong...))
	}
	return nil
}

// countsOf reads the figures of the page, by child and property.
func countsOf(text string) (map[[2]string]int, error) {
	counts := map[[2]string]int{}
	for _, chapter := range chapters {
		_, rest, _ := strings.Cut(text, "\n## "+chapter.title+"\n")
		body, _, _ := strings.Cut(rest, "\n## ")
		for line := range strings.Lines(body) {
			if !strings.HasPrefix(line, "| ") {
				continue
			}
			if err := readRow(line, chapter.columns, counts); err != nil {
				return nil, err
			}
		}
	}
	return counts, nil
}

// readRow adds the figures of a table's row to counts if the row belongs to a child.
func readRow(line string, columns []column, counts map[[2]string]int) error {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	child := strings.TrimSpace(cells[0])
	if child == "child" || strings.HasPrefix(child, "--") {
		return nil
	}
	if len(cells) != len(columns)+1 {
		return fmt.Errorf("docs/conformance.md: %d cells for %d columns: %s", len(cells), len(columns)+1, line)
	}
	for i, cell := range cells[1:] {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		n, err := strconv.Atoi(cell)
		if err != nil {
			return fmt.Errorf("docs/conformance.md: %s: %w", child, err)
		}
		counts[[2]string{child, columns[i].property}] = n
	}
	return nil
}
