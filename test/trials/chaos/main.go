// Command chaos runs all example operators while the control plane, the operators, the database, admission and storage
// fail at random and users change everything. It prints a table, and ends with exit code 1 if a guarantee does not hold.
// With -update, it writes docs/chaos.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/trials/chaos/broken"
	"github.com/trueup-go/trueup/test/trials/chaos/trial"
)

func main() {
	duration := flag.Duration("duration", 10*time.Minute, "how long faults happen and users act")
	seed := flag.Uint64("seed", 0, "what faults and users do follows from the `seed`; 0 stands for a random one")
	count := flag.Int("owners", 300, "custom resources of all operators together")
	update := flag.Bool("update", false, "write docs/chaos.md and its picture")
	patch := flag.String("broken", "", "run a deliberately broken build, by the `name` of a patch in the folder broken")
	flag.Parse()
	log.SetLogger(logr.Discard()) // errors are returned
	klog.SetLogger(logr.Discard())
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, trial.New(*seed, *count, *duration), *patch, *update)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nchaos: %v\nto repeat this: make chaos DURATION=%s OWNERS=%d SEED=%d\n", err, *duration, *count, *seed)
		os.Exit(1)
	}
}

func run(ctx context.Context, plan trial.Plan, patch string, update bool) error {
	if patch != "" {
		if update {
			return errors.New("a page about a broken build is not written")
		}
		dir, remove, err := broken.Build(ctx, patch)
		if err != nil {
			return err
		}
		defer remove()
		plan.Programs = dir
	}
	report, err := trial.Run(ctx, plan, os.Stdout)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s", report)
	if err := report.Missed(); err != nil {
		return err
	}
	if update {
		return writePage(report, fmt.Sprintf("%d processors", runtime.NumCPU()))
	}
	return nil
}
