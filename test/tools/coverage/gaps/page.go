package gaps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// kinds are the kinds of reasons: the beginning of a row's reason, and its meaning. The page lists
// them in this order.
var kinds = []struct{ name, meaning string }{
	{"impossible", "cannot happen as long as the code around it is as it is. It is there because Go wants the error looked at, or " +
		"because a library returns an error and never panics"},
	{"another version", "happens with another version of the API server, of Kubernetes' packages or of Go than the pinned ones"},
	{raced, "takes somebody else at the one right moment, or a server that fails just then. This one may be covered now and then"},
}

// raced is the kind of code that one run covers and another does not.
const raced = "a race"

const intro = `# What no test executes

` + "`make cover`" + ` measures which statements of the library its own tests execute, and those tests on a real control plane that call
it directly: [conformance](../test/suites/conformance), [ensure](../test/suites/ensure), [finalizer](../test/suites/finalizer),
[status](../test/suites/status) and [predicates](../test/suites/predicates). Whichever test of whichever package executes a
statement, it counts. What the operators do, in processes of their own, does not. The command prints how much is covered.

Here is what is not, with the reason. The command fails if something else is not covered, if a row has no reason, and if a row
names code that is gone or covered. ` + "`make cover UPDATE=1`" + ` writes the rows, and leaves reasons to you. A row names the
function, the condition that leads there, and the first statement. What can only be reached from there has no row of its own.

A reason is one of:

`

// Page is the reason of every known gap.
type Page struct {
	order   []string
	reasons map[string]string // by name as it stands in a row
}

// ParsePage reads a page as Write makes it. Other lines than rows are skipped.
func ParsePage(text string) *Page {
	page := &Page{reasons: map[string]string{}}
	var name string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			name = heading
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		row := strings.TrimSuffix(strings.TrimSuffix(line, "|"), " ")
		at := strings.LastIndex(row, " |") // no reason holds a bar
		cell := name + ": " + row[:max(at, 0)]
		page.order = append(page.order, cell)
		page.reasons[cell] = strings.TrimSpace(strings.TrimPrefix(row[max(at, 0):], " |"))
	}
	return page
}

// cells returns the first cells of the gap's row.
func (g Gap) cells() string {
	what := g.what()
	if g.Statement != "" {
		what = quoted(what)
	}
	if g.Nth > 1 {
		what += fmt.Sprintf(", number %d", g.Nth)
	}
	when := ""
	if g.When != "" {
		when = quoted(g.When)
	}
	return fmt.Sprintf("| %s %s | %s | %s", quoted(g.File), quoted(g.Function), when, what)
}

func (g Gap) row() string { return g.Package + ": " + g.cells() }

// quoted is code in a cell of a table.
func quoted(code string) string {
	code = strings.ReplaceAll(code, "|", `\|`)
	if strings.Contains(code, "`") {
		return "`` " + code + " ``"
	}
	return "`" + code + "`"
}

// isOpen reports whether the page has to list the block.
func (g Gap) isOpen() bool { return !g.covered && !g.followsUp }

func kindOf(reason string) int {
	return slices.IndexFunc(kinds, func(k struct{ name, meaning string }) bool { return strings.HasPrefix(reason, k.name+": ") })
}

func isRaced(reason string) bool { return strings.HasPrefix(reason, raced+": ") }

// Check returns one line for each error of a page, given all blocks.
func (p *Page) Check(all []Gap) []string {
	var problems []string
	byRow := map[string]Gap{}
	for _, g := range all {
		row := g.row()
		byRow[row] = g
		reason, listed := p.reasons[row]
		switch {
		case g.isOpen() && !listed:
			problems = append(problems, g.String()+": not covered, and not in the page")
		case listed && reason == "":
			problems = append(problems, g.String()+": has no reason")
		case listed && kindOf(reason) < 0:
			problems = append(problems, g.String()+": the reason is of no known kind: "+reason)
		case listed && g.covered && !isRaced(reason):
			problems = append(problems, g.String()+": is covered, but the page gives a reason why it is not")
		}
	}
	for _, row := range p.order {
		if _, ok := byRow[row]; !ok {
			problems = append(problems, row+": the page names code that is gone")
		}
	}
	return problems
}

// Write is the page for these blocks: reasons are kept, new rows have none.
func (p *Page) Write(all []Gap) string {
	var out strings.Builder
	out.WriteString(intro)
	for _, kind := range kinds {
		fmt.Fprintf(&out, "- **%s**: it %s.\n", kind.name, kind.meaning)
	}
	listed := slices.DeleteFunc(slices.Clone(all), func(g Gap) bool { return !g.isOpen() && !isRaced(p.reasons[g.row()]) })
	slices.SortStableFunc(listed, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(kindOf(p.reasons[a.row()]), kindOf(p.reasons[b.row()])))
	})
	var name string
	for _, g := range listed {
		if g.Package != name {
			name = g.Package
			fmt.Fprintf(&out, "\n## %s\n\n| function | condition | statement | reason |\n|---|---|---|---|\n", name)
		}
		fmt.Fprintf(&out, "%s | %s |\n", g.cells(), p.reasons[g.row()])
	}
	return out.String()
}
