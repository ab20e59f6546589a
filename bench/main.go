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
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
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

func (opts options) selectedCases() ([]objectCase, error) {
	pattern, err := regexp.Compile(opts.only)
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
		return nil, fmt.Errorf("no object is named like %q", opts.only)
	}
	return chosen, nil
}

// run measures everything and prints it. It returns an error if a figure misses the target.
func run(ctx context.Context, out io.Writer, opts options) error {
	chosen, err := opts.selectedCases()
	if err != nil {
		return err
	}
	missed := 0
	for _, compare := range []func() (section, error){
		func() (section, error) { return opts.compareDigests(chosen) },
		func() (section, error) { return opts.comparePasses(ctx, chosen) },
		func() (section, error) { return opts.compareReadiness(chosen) },
		func() (section, error) { return opts.compareSizes(ctx, minimalDeployment()) },
	} {
		s, err := compare()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Title, err)
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
