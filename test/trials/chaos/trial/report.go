package trial

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report has the results of a run.
type Report struct {
	Plan Plan
	// Began is when the chaos began, Ended when the last fault was over, and Rested when everything was at rest.
	Began, Ended, Rested time.Time
	Events               []Event
	Journal              []Entry
	// Sent has the times of the operators' requests.
	Sent map[string][]time.Time

	// Done and Late count actions of users; late ones found no object. Refused describes those that were refused.
	Done, Late int
	Refused    []string
	// Unrest has the differences that are left after the limit.
	Unrest []string
	// Marks counts the marks of users on objects that exist, and Lost describes the lost ones.
	Marks int
	Lost  []string
	// Deletions counts those of operators and of the garbage collector; Unasked describes those without a reason.
	Deletions int
	Unasked   []string
	// Hard has the writes of children that are never as desired.
	Hard []hardness
	// Requests counts the requests of operators that had nothing to do.
	Requests map[string]map[string]int
	// Usages has what each operator used before the chaos, at the beginning of the rest and at its end.
	Usages map[string][3]Usage
	Leaks  []string
	// Violations has everything else.
	Violations []string
}

// TimeToRest returns the time from the end of the last fault until everything was at rest.
func (r Report) TimeToRest() time.Duration { return r.Rested.Sub(r.Ended).Round(time.Second / 10) }

// Operators returns the names of the operators.
func (r Report) Operators() []string { return slices.Sorted(maps.Keys(r.Usages)) }

// Missed describes all violations; nil if there are none.
func (r Report) Missed() error {
	var missed []error
	miss := func(what string, problems []string) {
		if len(problems) > 0 {
			missed = append(missed, fmt.Errorf("%s:\n  %s", what, shorten(problems)))
		}
	}
	miss("not as desired", r.Unrest)
	miss("lost marks", r.Lost)
	miss("deletions that nobody asked for", r.Unasked)
	miss("leaks", r.Leaks)
	miss("violations", r.Violations)
	for name, counts := range r.Requests {
		missed = append(missed, fmt.Errorf("the operator %s sent requests when it had nothing to do: %v", name, counts))
	}
	for _, h := range r.Hard {
		if h.Writes > h.Allowed {
			missed = append(missed, fmt.Errorf("%d writes of %s, %s, and %d are allowed", h.Writes, h.Child, h.Why, h.Allowed))
		}
	}
	if r.Marks == 0 || r.Done == 0 {
		missed = append(missed, errors.New("nothing was compared"))
	}
	return errors.Join(missed...)
}

// String returns the report as a table.
func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Chaos for %s with %d owners, seed %d\n", r.Plan.Duration, r.Plan.Owners, r.Plan.Seed)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	faults := map[string]int{}
	for _, e := range r.Events {
		faults[e.Lane]++
	}
	for _, lane := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(table, "  faults, %s\t%d\n", lane, faults[lane])
	}
	fmt.Fprintf(table, "  actions of users\t%d, and %d came too late\n", r.Done, r.Late)
	if len(r.Refused) > 0 {
		fmt.Fprintf(table, "  refused actions\t%d, such as %.200s\n", len(r.Refused), r.Refused[0])
	}
	fmt.Fprintf(table, "  time to rest\t%s\n", r.TimeToRest())
	fmt.Fprintf(table, "  not as desired\t%d\n", len(r.Unrest))
	fmt.Fprintf(table, "  marks in place\t%d of %d\n", r.Marks-len(r.Lost), r.Marks)
	fmt.Fprintf(table, "  deletions by operators and garbage collector\t%d, and %d nobody asked for\n", r.Deletions, len(r.Unasked))
	for _, h := range r.Hard {
		fmt.Fprintf(table, "  writes of a child %s\t%d, and %d are allowed\n", h.Why, h.Writes, h.Allowed)
	}
	for _, name := range r.Operators() {
		u := r.Usages[name]
		fmt.Fprintf(table, "  %s\t%d requests; goroutines %.0f, %.0f, %.0f; MiB %.0f, %.0f, %.0f\n", name, len(r.Sent[name]),
			u[0].Goroutines, u[1].Goroutines, u[2].Goroutines, u[0].Heap/(1<<20), u[1].Heap/(1<<20), u[2].Heap/(1<<20))
	}
	_ = table.Flush() // what a user reads
	return text.String()
}
