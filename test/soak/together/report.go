package together

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// shown is how much of what is wrong an error names.
const shown = 10

// A Report is what came of it.
type Report struct {
	Plan    Plan
	Results []Result
	// Marks are those that people made.
	Marks Tally
	// Unrest is what is not as it should be when the bound is over.
	Unrest error
}

// A Result is what came of it for one operator.
type Result struct {
	Operator string
	// Objects are those of its kind that people want in the end, Children what is to be
	// there for them.
	Objects, Children int
	// Done is how much people did to them, and Late how often they found nothing to do it to.
	Done, Late int
	// Writes is how often the operator wrote a child or a row, Storm how many requests it
	// sent while the hands were at work, events left out.
	Writes, Storm int
	// Errors is how many it logged, Contests how often it gave way.
	Errors, Contests int
	// Converged is how long it took from the storm's end until everything was as it should
	// be, with the precision of a look.
	Converged time.Duration
	// Quiet are the requests that it sent when it should have sent none, by kind.
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
	fmt.Fprintf(&text, "%d operators together, %d hands at work for %s, seed %d\n", len(r.Results), r.Plan.Hands, r.Plan.Storm, r.Plan.Seed)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  \tobjects\tchildren\tacts\ttoo late\twrites\terrors\tcontests\trequests\tas desired after\trequests at rest")
	for _, o := range r.Results {
		fmt.Fprintf(table, "  %s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\n", o.Operator, o.Objects, o.Children, o.Done, o.Late,
			o.Writes, o.Errors, o.Contests, o.Storm, o.Converged.Round(time.Second), o.quiet())
	}
	fmt.Fprintf(table, "  target\t\t\t\t\t\t\t0\t\twithin %s\t0 in %s\n", bound, r.Plan.Quiet)
	_ = table.Flush() // what a person reads
	fmt.Fprintf(&text, "  foreign marks: %d of %d present\n", r.Marks.Made-r.Marks.Lost, r.Marks.Made)
	return text.String()
}
