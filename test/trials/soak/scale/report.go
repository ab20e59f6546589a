package scale

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// The targets: how far a child's cost may differ between sizes, and the required ratio of our rate
// to the plain client's.
const (
	maxGrowth = 1.2
	minRatio  = 0.8
)

// A Report holds the measurements.
type Report struct {
	Sizes []Size
	Race  Race
}

// A line of the table is a figure of each size.
type line struct {
	name   string
	figure func(Size) any
	target string
}

func lines() []line {
	return []line{
		{"children", func(s Size) any { return s.Children }, ""},
		{"made by creates", func(s Size) any { return s.Converging.Created }, "one each"},
		{"  other requests meanwhile", func(s Size) any { return s.Converging.others() }, ""},
		{"passes over all of them", func(s Size) any { return s.Passes }, ""},
		{"  requests", func(s Size) any { return s.Resyncs.Sent }, "0"},
		{"restarts", func(s Size) any { return s.Instances }, ""},
		{"  requests", func(s Size) any { return s.Restarts.Sent }, "0"},
		{"processor time, per child", func(s Size) any { return s.Time.Round(10 * time.Nanosecond) }, "within 20 %"},
		{"  by the clock", func(s Size) any { return s.Clock.Round(10 * time.Nanosecond) }, ""},
		{"heap, per child", func(s Size) any { return fmt.Sprintf("%d B", s.Heap) }, "within 20 %"},
		{"  of it the Ensurer's", func(s Size) any { return fmt.Sprintf("%d B", s.Memory) }, ""},
	}
}

// String is the report as tables.
func (r Report) String() string {
	var text strings.Builder
	r.writeSizes(&text)
	r.writeRace(&text)
	return text.String()
}

func (r Report) writeSizes(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range lines() {
		fmt.Fprint(table, line.name)
		for _, size := range r.Sizes {
			fmt.Fprintf(table, "\t%v", line.figure(size))
		}
		fmt.Fprintf(table, "\t%s\n", line.target)
	}
	_ = table.Flush() // what a user reads
}

func (r Report) writeRace(out io.Writer) {
	fmt.Fprintf(out, "\n%d children of %d owners converge\n", r.Race.Children, r.Race.Owners)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "  ours, at best\t%s\n  the plain client, likewise\t%s\n", best(r.Race.Ours), best(r.Race.Plain))
	fmt.Fprintf(table, "  ratio, median of %d rounds\t%.2f\tat least %.1f\n", len(r.Race.Ours), r.Race.Ratio(), minRatio)
	_ = table.Flush() // what a user reads
}

// Missed names every target that is missed; nil if none is.
func (r Report) Missed() error {
	var missed []error
	for _, size := range r.Sizes {
		missed = append(missed, size.missed(), size.missedBeside(r.Sizes[0]))
	}
	return errors.Join(append(missed, r.Race.missed())...)
}

func miss(format string, args ...any) error { return fmt.Errorf("missed: "+format, args...) }

func (s Size) missed() error {
	var missed []error
	if made := s.Converging.Created; made != s.Children {
		missed = append(missed, miss("%d creates for %d children", made, s.Children))
	}
	if s.Resyncs.Sent != 0 {
		missed = append(missed, miss("%d requests in passes over %d children: %v", s.Resyncs.Sent, s.Children, s.Resyncs.Kinds))
	}
	if s.Restarts.Sent != 0 {
		missed = append(missed, miss("%d requests after restarts over %d children: %v", s.Restarts.Sent, s.Children, s.Restarts.Kinds))
	}
	return errors.Join(missed...)
}

// missedBeside compares the cost of a child with a smaller size.
func (s Size) missedBeside(small Size) error {
	var missed []error
	if !isSame(float64(small.Time), float64(s.Time)) {
		missed = append(missed, miss("a pass takes %s per child with %d children and %s with %d",
			small.Time, small.Children, s.Time, s.Children))
	}
	if !isSame(float64(small.Heap), float64(s.Heap)) {
		missed = append(missed, miss("a child takes %d B with %d children and %d B with %d",
			small.Heap, small.Children, s.Heap, s.Children))
	}
	return errors.Join(missed...)
}

func (r Race) missed() error {
	var missed []error
	for _, lap := range r.Ours {
		if made := lap.Requests.Created; made != r.Children {
			missed = append(missed, miss("%d creates for %d children in the race", made, r.Children))
		}
	}
	if r.Ratio() < minRatio {
		missed = append(missed, miss("the operator converges at %.2f of the plain client's rate", r.Ratio()))
	}
	return errors.Join(missed...)
}

// isSame reports whether two costs differ by a fifth at most.
func isSame(a, b float64) bool {
	return a > 0 && b > 0 && max(a, b) <= maxGrowth*min(a, b)
}
