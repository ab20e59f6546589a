package gaps

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
)

// position is a place in a file, as Go's coverage counts: both begin at 1, columns are bytes.
type position struct{ line, column int }

// block is a run of statements of which all are executed or none.
type block struct {
	from, to   position
	statements int
	covered    bool
}

// A Profile has the blocks of each file, executed or not. Files are named by their import path.
type Profile map[string][]block

// Read reads the text format of Go's coverage: a line for the mode, and one per block. A block with
// several lines was executed if one of them says so.
func Read(r io.Reader) (Profile, error) {
	profile := Profile{}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		if number == 1 && strings.HasPrefix(lines.Text(), "mode: ") {
			continue
		}
		if err := profile.add(lines.Text()); err != nil {
			return nil, fmt.Errorf("cannot read line %d of the profile: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cannot read the profile: %w", err)
	}
	for _, blocks := range profile {
		slices.SortFunc(blocks, func(a, b block) int { return comparePositions(a.from, b.from) })
	}
	return profile, nil
}

func comparePositions(a, b position) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
}

// add reads one line, such as example.com/a/b.go:12.34,15.2 3 1: from, to, statements, and how often.
func (p Profile) add(line string) error {
	file, rest, ok := strings.Cut(line, ".go:")
	if !ok {
		return fmt.Errorf("%q names no file", line)
	}
	file += ".go"
	var b block
	var count int
	if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d",
		&b.from.line, &b.from.column, &b.to.line, &b.to.column, &b.statements, &count); err != nil {
		return fmt.Errorf("%q is no block: %w", line, err)
	}
	b.covered = count > 0
	known := slices.IndexFunc(p[file], func(other block) bool { return other.from == b.from && other.to == b.to })
	if known < 0 {
		p[file] = append(p[file], b)
		return nil
	}
	p[file][known].covered = p[file][known].covered || b.covered
	return nil
}

// tally counts statements.
type tally struct{ statements, covered int }

func (t *tally) add(b block) {
	t.statements += b.statements
	if b.covered {
		t.covered += b.statements
	}
}

func (t *tally) percent() float64 { return 100 * float64(t.covered) / float64(max(t.statements, 1)) }

// Print writes a table: a line per package, and the total.
func (p Profile) Print(w io.Writer) error {
	packages := map[string]*tally{}
	var names []string
	var total tally
	for file, blocks := range p {
		name := path.Dir(file)
		if packages[name] == nil {
			packages[name] = &tally{}
			names = append(names, name)
		}
		for _, b := range blocks {
			packages[name].add(b)
			total.add(b)
		}
	}
	slices.Sort(names)

	// Flush returns the errors of writing.
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "statements\tcovered\t%%\t  package\n")
	row := func(name string, t *tally) {
		fmt.Fprintf(table, "%d\t%d\t%.1f\t  %s\n", t.statements, t.covered, t.percent(), name)
	}
	for _, name := range names {
		row(name, packages[name])
	}
	row("total", &total)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	return nil
}
