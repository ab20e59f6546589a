package faults

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// shown is how many trespasses an error names.
const shown = 5

// A Report holds the results of the trials.
type Report struct {
	Plan    Plan
	Results []Result
}

// A Result is the final result of one trial.
type Result struct {
	Trial string
	Tally
	// Violations are writes of somebody who may not: into another cluster's row, without the
	// global lock. They are looked for where several operators share a database.
	Violations []string
	// Happened lists the faults.
	Happened []string
	Took     time.Duration
	// Logs is a folder with the operators' logs, if the trial failed.
	Logs string
	// Err is that the trial could not be done, or did not come to rest.
	Err error
}

// IsSkipped reports whether the trial needs something unavailable: a database server named by the
// environment must not be stopped.
func (r Result) IsSkipped() bool { return errors.Is(r.Err, errors.ErrUnsupported) }

// Missed returns why the trial failed, or nil if it succeeded.
func (r Result) Missed() error {
	if r.IsSkipped() {
		return nil
	}
	errs := []error{r.differs(), r.Err}
	for _, trespass := range r.Violations[:min(shown, len(r.Violations))] {
		errs = append(errs, fmt.Errorf("one of %d trespasses: %s", len(r.Violations), trespass))
	}
	if r.Objects == 0 {
		errs = append(errs, errors.New("nothing was compared"))
	}
	if err := errors.Join(errs...); err != nil {
		if r.Logs != "" {
			err = fmt.Errorf("%w\nthe operators' logs are in %s", err, r.Logs)
		}
		return fmt.Errorf("missed: %s: %w", r.Trial, err)
	}
	return nil
}

// Verdict summarises the result in a few words.
func (r Result) Verdict() string {
	switch {
	case r.IsSkipped():
		return "skipped: " + r.Err.Error()
	case r.Missed() != nil:
		return "failed"
	}
	return fmt.Sprintf("all is as it should be, after %s", r.Took.Round(time.Second))
}

// Missed is why trials failed; nil if none did.
func (r Report) Missed() error {
	var missed []error
	for _, result := range r.Results {
		missed = append(missed, result.Missed())
	}
	return errors.Join(missed...)
}

// String is the report as a table.
func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "PostgresWriters under faults, %d created and %d deleted in each cluster, seed %d\n",
		r.Plan.Creations, r.Plan.Deletions, r.Plan.Seed)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  \tobjects\trows\tlost\tdoubled\tleft behind\ttrespasses\twhat happened")
	for _, t := range r.Results {
		if t.IsSkipped() {
			fmt.Fprintf(table, "  %s\t\t\t\t\t\t\t%s\n", t.Trial, t.Verdict())
			continue
		}
		fmt.Fprintf(table, "  %s\t%d\t%d\t%d\t%d\t%d\t%d\t%s; %s in all\n", t.Trial, t.Objects, t.Rows,
			t.Lost, t.Doubled, t.LeftBehind, len(t.Violations), strings.Join(t.Happened, ", "), t.Took.Round(time.Second))
	}
	fmt.Fprintln(table, "  target\t\t\t0\t0\t0\t0\t")
	_ = table.Flush() // what a user reads
	return text.String()
}
