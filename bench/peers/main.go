// Command peers compares trueup with the functions and libraries that operators use today for their children.
// Each contestant is an operator that differs from the others only in how it writes: the children, the API
// server and the cached client are the same. Peers prints a page with tables; with -update, it writes the
// page and its plots into a folder. With -record, it writes the answers of an API server that bench replays.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A plan is how much is measured.
type plan struct {
	sizes  []int // numbers of children
	owners int   // of a burst
	rounds int   // of bursts
}

var (
	long  = plan{sizes: []int{100, 1000, 10_000}, owners: 500, rounds: len(contestants())}
	short = plan{sizes: []int{100}, owners: 50, rounds: 2}
)

func main() {
	isShort := flag.Bool("short", false, "measure the smallest number of children, and fewer new owners")
	library := flag.String("library", "", "end the page with the sections in this `file`, which bench has printed")
	folder := flag.String("update", "", "write benchmarks.md and its plots into this `folder`, and print nothing")
	recordings := flag.String("record", "", "write what an API server answers into this `folder`, for bench, and measure nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	log.SetLogger(logr.Discard()) // errors are returned
	chosen := long
	if *isShort {
		chosen = short
	}
	var err error
	if *recordings != "" {
		err = record(ctx, *recordings)
	} else {
		err = run(ctx, chosen, *library, *folder)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, chosen plan, library, folder string) error {
	of := page{Machine: thisMachine(), IsShort: len(chosen.sizes) < len(long.sizes)}
	if library != "" {
		sections, err := os.ReadFile(library)
		if err != nil {
			return err
		}
		of.Library = string(sections)
	}
	var err error
	if of.comparison, err = compare(ctx, chosen); err != nil {
		return err
	}
	if folder == "" {
		return of.write(os.Stdout)
	}
	file, err := os.Create(filepath.Join(folder, "benchmarks.md"))
	if err != nil {
		return err
	}
	if err := of.write(file); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return of.plot(filepath.Join(folder, "benchmarks"))
}

// compare measures all contestants, each on a new API server, and then the bursts of all.
func compare(ctx context.Context, chosen plan) (comparison, error) {
	var c comparison
	for _, size := range chosen.sizes {
		s := comparedSize{Children: size}
		for _, contestant := range contestants() {
			result, err := measure(ctx, contestant, size)
			if err != nil {
				return c, fmt.Errorf("%s with %d children: %w", contestant.name, size, err)
			}
			s.Results = append(s.Results, result)
			fmt.Fprintf(os.Stderr, "%d children: %s measured\n", size, contestant.name)
		}
		c.Sizes = append(c.Sizes, s)
	}
	var err error
	c.Burst, err = measureBursts(ctx, chosen.owners, chosen.rounds)
	return c, err
}
