// Package versions maintains the tables of docs/versions.md. Each version of Kubernetes has a column, which a run of
// the conformance suite on that version writes.
package versions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/trueup-go/trueup/test/harness/page"
)

const (
	begin = "<!-- Begin: written by make conformance, with K8S=1.33 for the column of 1.33. -->\n"
	end   = "<!-- End -->\n"
	// short marks the versions of short columns.
	short = " (short)"
	// same stands for the list of differences if there are none.
	same = "none"
)

// A Column is the result of the conformance suite on one version of Kubernetes.
type Column struct {
	Version string // such as v1.33.13
	// Short says that each child was tried with one of several sorts of clients.
	Short bool
	// Counts are the checks that held, by property.
	Counts map[string]int
	// Differences are the results that differ from those of the pinned version.
	Differences []string
}

// A Page is docs/versions.md.
type Page struct {
	before, after string
	columns       []Column
}

// Parse reads the page.
func Parse(text string) (*Page, error) {
	before, rest, begun := strings.Cut(text, begin)
	generated, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		return nil, fmt.Errorf("cannot find the tables of docs/versions.md: there must be two lines %q and %q", begin, end)
	}
	p := &Page{before: before, after: after}
	for line := range strings.Lines(generated) {
		if err := p.readLine(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("cannot read a line of docs/versions.md: %w: %s", err, line)
		}
	}
	return p, nil
}

func (p *Page) readLine(line string) error {
	if version, difference, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": "); ok && strings.HasPrefix(line, "- ") {
		i := slices.IndexFunc(p.columns, func(c Column) bool { return c.Version == version })
		if i < 0 {
			return fmt.Errorf("there is no column %s", version)
		}
		if difference != same {
			p.columns[i].Differences = append(p.columns[i].Differences, difference)
		}
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	switch {
	case !strings.HasPrefix(line, "|"), strings.HasPrefix(line, "| --"):
		return nil
	case p.columns == nil:
		for _, head := range cells[1:] {
			version, isShort := strings.CutSuffix(head, short)
			p.columns = append(p.columns, Column{Version: version, Short: isShort, Counts: map[string]int{}})
		}
		return nil
	case len(cells) != len(p.columns)+1:
		return fmt.Errorf("%d figures for %d columns", len(cells)-1, len(p.columns))
	}
	for i, cell := range cells[1:] {
		n, err := strconv.Atoi(cell)
		if err != nil {
			return errors.New("a cell is no number")
		}
		p.columns[i].Counts[cells[0]] = n
	}
	return nil
}

// Column returns the column of a version, and false if the page has none.
func (p *Page) Column(version string) (Column, bool) {
	for _, c := range p.columns {
		if c.Version == version {
			return c, true
		}
	}
	return Column{}, false
}

func (c Column) head() string {
	if c.Short {
		return c.Version + short
	}
	return c.Version
}

// Set replaces the column of the same minor version, or adds the column.
func (p *Page) Set(column Column) {
	minor := semver.MajorMinor(column.Version)
	p.columns = slices.DeleteFunc(p.columns, func(c Column) bool { return semver.MajorMinor(c.Version) == minor })
	p.columns = append(p.columns, column)
	slices.SortFunc(p.columns, func(a, b Column) int { return semver.Compare(a.Version, b.Version) })
}

// Text returns the page, with a row for each of the properties.
func (p *Page) Text(properties []string) string {
	rows := [][]string{{"property"}, {"---"}}
	for _, c := range p.columns {
		rows[0], rows[1] = append(rows[0], c.head()), append(rows[1], "--:")
	}
	for _, property := range properties {
		row := []string{property}
		for _, c := range p.columns {
			row = append(row, strconv.Itoa(c.Counts[property]))
		}
		rows = append(rows, row)
	}
	return p.before + begin + "\n" + page.Table(rows) + "\n" + p.differences() + "\n" + end + p.after
}

func (p *Page) differences() string {
	var list strings.Builder
	for _, c := range p.columns {
		lines := c.Differences
		if len(lines) == 0 {
			lines = []string{same}
		}
		for _, line := range lines {
			fmt.Fprintf(&list, "- %s: %s\n", c.Version, line)
		}
	}
	return "Differences from the pinned version:\n\n" + list.String()
}
