// Command bench compares trueup with the functions that operators use today, on the same objects
// and in one run. It exits with 1 if a figure misses the target.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"text/tabwriter"
	"time"
)

func main() {
	var opts options
	flag.IntVar(&opts.rounds, "rounds", 15, "how often each contestant is measured; the best counts")
	flag.DurationVar(&opts.turn, "turn", 60*time.Millisecond, "how long each time")
	flag.StringVar(&opts.only, "only", "", "only the objects whose names match this regular expression")
	profile := flag.String("cpuprofile", "", "write a CPU profile of trueup's part alone to this file, and measure nothing")
	flag.Parse()

	var err error
	if *profile != "" {
		err = writeProfile(*profile, opts)
	} else {
		err = run(context.Background(), os.Stdout, opts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	turn   time.Duration
	only   string
}

func (o options) selectedCases() ([]objectCase, error) {
	pattern, err := regexp.Compile(o.only)
	if err != nil {
		return nil, err
	}
	var chosen []objectCase
	for _, s := range objectCases() {
		if pattern.MatchString(s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no object is named like %q", o.only)
	}
	return chosen, nil
}

// run measures and prints all figures. It returns an error if one misses the target.
func run(ctx context.Context, out io.Writer, opts options) error {
	chosen, err := opts.selectedCases()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "Digest: hash.Object beside json.Marshal and SHA-256")
	missed, err := compareDigests(out, opts, chosen)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nNothing to do: ensure.Object beside controllerutil.CreateOrUpdate; both read a deep copy")
	missedToo, err := compareNothingToDo(ctx, out, opts, chosen)
	if err != nil {
		return err
	}
	if missed+missedToo > 0 {
		return fmt.Errorf("%d targets missed", missed+missedToo)
	}
	return nil
}

func compareDigests(out io.Writer, opts options, chosen []objectCase) (missed int, err error) {
	table := newTable(out, "object", "trueup", "allocs", "", "json", "allocs", "ratio", "")
	for _, s := range chosen {
		c, goal := compareDigest(s), s.goal()
		figures := func(costs []cost) (ratio, allocs target) {
			return target{costs[0].ns / costs[1].ns, goal.digest}, target{costs[0].allocs, goal.digestAllocs}
		}
		costs, err := opts.measure(figures, c.trueup, c.peer)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", s.name, err)
		}
		ours, theirs := costs[0], costs[1]
		ratio, allocs := figures(costs)
		table.row(s.name, micros(ours), count(ours), allocs.verdict(), micros(theirs), count(theirs), ratio.text(), ratio.verdict())
		missed += ratio.missed() + allocs.missed()
	}
	return missed, table.Flush()
}

func compareNothingToDo(ctx context.Context, out io.Writer, opts options, chosen []objectCase) (missed int, err error) {
	table := newTable(out, "object", "deep copy", "trueup", "CreateOrUpdate", "ratio", "", "allocs", "allocs", "ratio", "")
	for _, s := range chosen {
		c, err := compareNothingToDoFor(ctx, s)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", s.name, err)
		}
		goal := s.goal()
		figures := func(costs []cost) (ratio, allocs target) {
			return target{costs[0].ns / costs[1].ns, goal.nothing}, target{costs[0].allocs / costs[1].allocs, goal.nothingAllocs}
		}
		costs, err := opts.measure(figures, c.trueup, c.peer, deepCopy(s))
		if err != nil {
			return missed, fmt.Errorf("%s: %w", s.name, err)
		}
		ours, theirs, reading := costs[0], costs[1], costs[2]
		ratio, allocs := figures(costs)
		table.row(s.name, micros(reading), micros(ours), micros(theirs), ratio.text(), ratio.verdict(),
			count(ours), count(theirs), allocs.text(), allocs.verdict())
		missed += ratio.missed() + allocs.missed()
	}
	return missed, table.Flush()
}

// writeProfile writes a CPU profile of trueup's part.
func writeProfile(path string, opts options) error {
	chosen, err := opts.selectedCases()
	if err != nil {
		return err
	}
	var work []func() error
	for _, s := range chosen {
		ours, err := ensureNothing(context.Background(), s)
		if err != nil {
			return err
		}
		work = append(work, ours, compareDigest(s).trueup)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	_, err = measure(opts.rounds, 10*opts.turn, work...)
	pprof.StopCPUProfile()
	fmt.Println("wrote", file.Name())
	return errors.Join(err, file.Close())
}

type table struct{ *tabwriter.Writer }

func newTable(out io.Writer, columns ...string) table {
	t := table{tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)}
	t.row(columns...)
	return t
}

func (t table) row(cells ...string) {
	for _, cell := range cells {
		fmt.Fprint(t, cell, "\t")
	}
	fmt.Fprintln(t)
}

func micros(c cost) string { return fmt.Sprintf("%.2f µs", c.ns/1000) }

func count(c cost) string { return fmt.Sprintf("%.0f", c.allocs) }
