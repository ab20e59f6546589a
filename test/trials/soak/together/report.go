package together

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// shown bounds the number of findings in an error.
const shown = 10

// A Report holds the results.
type Report struct {
	Plan    Plan
	Results []Result
	// Marks counts the marks of people.
	Marks Tally
	// Unrest holds the remaining errors when the time is over.
	Unrest error
}

// A Result holds the results for one operator.
type Result struct {
	Operator string
	// Objects counts the objects of the kind that people want in the end, and Children their
	// desired children.
	Objects, Children int
	// Done counts the actions of people, and Late counts the actions whose object did not exist.
	Done, Late int
	// Writes counts the operator's writes of a child or a row. Storm counts its requests, except
	// events, while the workers were active.
	Writes, Storm int
	// Errors counts logged errors, and Contests counts how often the operator backed off in a
	// contest.
	Errors, Contests int
	// Converged is the time from the storm's end until everything was right, to the precision of
	// the polling interval.
	Converged time.Duration
	// Quiet counts the requests, by kind, that the operator sent while it had nothing to do.
	Quiet map[string]int
}

// Missed names all that fell short; nil if nothing did.
func (r Report) Missed() error {
	var missed []error
	for _, result := range r.Results {
		missed = append(missed, result.missed())
	}
	if r.Marks.Made == 0 {
		missed = append(missed, miss("no mark was compared"))
	}
	if r.Marks.Lost > 0 {
		missed = append(missed, miss("%d of %d marks are lost", r.Marks.Lost, r.Marks.Made))
	}
	if r.Unrest != nil {
		missed = append(missed, fmt.Errorf("missed: %w", r.Unrest))
	}
	return errors.Join(missed...)
}

func (r Result) missed() error {
	var missed []error
	if r.Objects == 0 || r.Done == 0 {
		missed = append(missed, miss("%s: %d acts on %d objects prove nothing", r.Operator, r.Done, r.Objects))
	}
	if r.Contests > 0 {
		missed = append(missed, miss("%s: it gave way %d times, to nobody who contests anything", r.Operator, r.Contests))
	}
	if len(r.Quiet) > 0 {
		missed = append(missed, miss("%s: requests when all is as it should be: %v", r.Operator, r.Quiet))
	}
	return errors.Join(missed...)
}

func miss(format string, args ...any) error { return fmt.Errorf("missed: "+format, args...) }

func (r Result) quiet() int {
	sum := 0
	for _, n := range r.Quiet {
		sum += n
	}
	return sum
}

// String is the report as a table.
func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d operators together, %d workers active for %s, seed %d\n",
		len(r.Results), r.Plan.Workers, r.Plan.Storm, r.Plan.Seed)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  \tobjects\tchildren\tacts\ttoo late\twrites\terrors\tcontests\trequests\tas desired after\trequests at rest")
	for _, o := range r.Results {
		fmt.Fprintf(table, "  %s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\n", o.Operator, o.Objects, o.Children, o.Done, o.Late,
			o.Writes, o.Errors, o.Contests, o.Storm, o.Converged.Round(time.Second), o.quiet())
	}
	fmt.Fprintf(table, "  target\t\t\t\t\t\t\t0\t\twithin %s\t0 in %s\n", convergenceTimeout, r.Plan.Quiet)
	_ = table.Flush() // what a user reads
	fmt.Fprintf(&text, "  foreign marks: %d of %d present\n", r.Marks.Made-r.Marks.Lost, r.Marks.Made)
	return text.String()
}
