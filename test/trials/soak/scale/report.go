package scale

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// How far the cost of a child may differ between sizes. A search through all children would show as ten times the time; the caches
// of a processor, which more children do not fit in, and what else the machine does show as less than twice.
const (
	timeGrowth = 2
	heapGrowth = 1.2
)

// A Report holds the measurements.
type Report struct {
	Sizes []Size
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
		{"processor time, per child", func(s Size) any { return s.Time.Round(10 * time.Nanosecond) }, "twice at most"},
		{"  by the clock", func(s Size) any { return s.Clock.Round(10 * time.Nanosecond) }, ""},
		{"heap, per child", func(s Size) any { return fmt.Sprintf("%d B", s.Heap) }, "within 20 %"},
		{"  of it the Ensurer's", func(s Size) any { return fmt.Sprintf("%d B", s.Memory) }, ""},
	}
}

// String returns the report as a table.
func (r Report) String() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, line := range lines() {
		fmt.Fprint(table, line.name)
		for _, size := range r.Sizes {
			fmt.Fprintf(table, "\t%v", line.figure(size))
		}
		fmt.Fprintf(table, "\t%s\n", line.target)
	}
	_ = table.Flush() // into memory
	return text.String()
}

// Missed names every target that is missed; nil if none is.
func (r Report) Missed() error {
	var missed []error
	for _, size := range r.Sizes {
		missed = append(missed, size.missed(), size.missedBeside(r.Sizes[0]))
	}
	return errors.Join(missed...)
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
	if !isWithin(timeGrowth, float64(small.Time), float64(s.Time)) {
		missed = append(missed, miss("a pass takes %s per child with %d children and %s with %d",
			small.Time, small.Children, s.Time, s.Children))
	}
	if !isWithin(heapGrowth, float64(small.Heap), float64(s.Heap)) {
		missed = append(missed, miss("a child takes %d B with %d children and %d B with %d",
			small.Heap, small.Children, s.Heap, s.Children))
	}
	return errors.Join(missed...)
}

// isWithin reports whether neither of two costs is above the other one times growth.
func isWithin(growth, a, b float64) bool {
	return a > 0 && b > 0 && max(a, b) <= growth*min(a, b)
}
