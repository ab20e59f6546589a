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
	"slices"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

func main() {
	var opts options
	flag.IntVar(&opts.rounds, "rounds", 10, "how often each function is measured; the best counts")
	flag.DurationVar(&opts.turn, "turn", 50*time.Millisecond, "how long each time")
	flag.StringVar(&opts.only, "only", "", "only the objects whose names match this regular expression")
	flag.BoolVar(&opts.report, "report", false, "exit with 0 although a figure misses its target")
	profile := flag.String("cpuprofile", "", "write a CPU profile of trueup's part alone to this file, and measure nothing")
	flag.IntVar(&opts.mostChildren, "children", 100_000, "the largest number of children of one kind")
	flag.Parse()
	log.SetLogger(logr.Discard()) // errors are returned

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

	mostChildren int
	report       bool
}

// A selection is what -only selects.
type selection struct {
	cases    []objectCase
	children []contest.Child
}

func (opts options) selected() (selection, error) {
	pattern, err := regexp.Compile(opts.only)
	if err != nil {
		return selection{}, err
	}
	chosen := selection{
		cases:    slices.DeleteFunc(objectCases(), func(c objectCase) bool { return !pattern.MatchString(c.name) }),
		children: slices.DeleteFunc(contest.Children(), func(c contest.Child) bool { return !pattern.MatchString(c.Kind.Kind) }),
	}
	if len(chosen.cases)+len(chosen.children) == 0 {
		return chosen, fmt.Errorf("no object is named like %q", opts.only)
	}
	return chosen, nil
}

// run measures everything and prints it. It returns an error if a figure misses the target.
func run(ctx context.Context, out io.Writer, opts options) error {
	chosen, err := opts.selected()
	if err != nil {
		return err
	}
	missed := 0
	for _, compare := range []func() (section, error){
		func() (section, error) { return opts.compareDigests(chosen.cases) },
		func() (section, error) { return opts.comparePasses(ctx, chosen.cases) },
		func() (section, error) { return opts.compareWrites(ctx, chosen.children) },
		func() (section, error) { return opts.compareLists(ctx) },
		func() (section, error) { return opts.compareReadiness(chosen.cases) },
		func() (section, error) { return opts.compareSizes(ctx, minimalDeployment()) },
	} {
		s, err := compare()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Title, err)
		}
		if len(s.rows) == 0 {
			continue
		}
		if err := s.write(out); err != nil {
			return err
		}
		missed += s.missed
	}
	if missed > 0 && !opts.report {
		return fmt.Errorf("%d targets missed", missed)
	}
	return nil
}

// writeProfile writes a CPU profile of trueup's part.
func writeProfile(path string, opts options) error {
	chosen, err := opts.selected()
	if err != nil {
		return err
	}
	var work []func() error
	for _, s := range chosen.cases {
		ours, err := ensureNothing(context.Background(), s)
		if err != nil {
			return err
		}
		work = append(work, ours, computing(hashObject, s.desired()))
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
