// Soak tests trueup at scale, on a real API server. Soak prints a table of the results, and ends with exit code 1 if a
// target is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/trials/soak/scale"
)

// size is how much is tried.
type size struct {
	children, workers, rounds int
	readYourWrites            bool
}

func main() {
	var s size
	flag.IntVar(&s.children, "children", 10_000, "children of one operator, a multiple of 100; a tenth of them is tried as well")
	flag.IntVar(&s.workers, "workers", 4, "owners that the operator reconciles at a time")
	flag.IntVar(&s.rounds, "rounds", 9, "how often everything is measured")
	flag.BoolVar(&s.readYourWrites, "read-your-writes", true,
		"have the operator's reads wait until its cache shows what it wrote, as the example operators do")
	flag.Parse()
	log.SetLogger(logr.Discard()) // errors are returned
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\nsoak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s size) (err error) {
	if s.children < 100 || s.children%100 != 0 || s.workers < 1 || s.rounds < 1 {
		return errors.New("children has to be a multiple of 100, and nothing may be less than 1")
	}
	fmt.Println("Starting a Kubernetes control plane; the first time ever it has to be built.")
	c, err := cluster.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()

	trial, err := scale.NewTrial(ctx, c)
	if err != nil {
		return err
	}
	trial.Workers, trial.Rounds, trial.ReadYourWrites, trial.Out = s.workers, s.rounds, s.readYourWrites, os.Stdout
	var report scale.Report
	if report.Sizes, err = trial.Grow(ctx, s.children/10, s.children); err != nil {
		return err
	}
	fmt.Printf("\n%s", report)
	return report.Missed()
}
