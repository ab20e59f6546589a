// Soak tests trueup in three parts, each on a separate Kubernetes: at scale; one example operator
// while the servers and processes around it are stopped, killed or frozen; and all example
// operators together while people change their children. Soak prints tables of the results, and
// ends with exit code 1 if a target is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/trials/soak/faults"
	"github.com/trueup-go/trueup/test/trials/soak/scale"
	"github.com/trueup-go/trueup/test/trials/soak/together"
)

// size is how much is tried at scale.
type size struct {
	children, owners, workers, rounds int
	readYourWrites                    bool
}

func main() {
	var s size
	flag.IntVar(&s.children, "children", 10_000, "children of one operator, a multiple of 100; a tenth of them is tried as well")
	flag.IntVar(&s.owners, "owners", 500, "owners, of three children each, that converge beside a plain client")
	flag.IntVar(&s.workers, "workers", 4, "owners that the operator reconciles at a time, and requests of the plain client")
	flag.IntVar(&s.rounds, "rounds", 9, "how often everything is measured")
	flag.BoolVar(&s.readYourWrites, "read-your-writes", true,
		"have the operator's reads wait until its cache shows what it wrote, as the example operators do")
	only := flag.String("only", "", "one `part`: scale, faults or together")
	seed := flag.Uint64("seed", 0, "of what is random about faults and people; 0 stands for a random `seed`")
	flag.Parse()
	log.SetLogger(logr.Discard()) // errors are returned
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *only, s, *seed)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\nsoak:", err)
		os.Exit(1)
	}
}

// run runs all parts, or only the given one. A part that misses a target does not stop the
// following parts.
func run(ctx context.Context, only string, s size, seed uint64) error {
	if seed == 0 {
		seed = rand.Uint64()
	}
	switch only {
	case "scale":
		return runScale(ctx, s)
	case "faults":
		return runFaults(ctx, seed)
	case "together":
		return runTogether(ctx, seed)
	case "":
		return errors.Join(runScale(ctx, s), runFaults(ctx, seed), runTogether(ctx, seed))
	}
	return fmt.Errorf("there is no part %q: give scale, faults or together", only)
}

func runFaults(ctx context.Context, seed uint64) error {
	report, err := faults.Run(ctx, faults.Long(seed), os.Stdout)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s", report)
	if err := report.Missed(); err != nil {
		return fmt.Errorf("%w\nto repeat this: make soak SEED=%d ARGS='-only faults'", err, seed)
	}
	return nil
}

func runTogether(ctx context.Context, seed uint64) error {
	report, err := together.Run(ctx, together.Long(seed), os.Stdout)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s", report)
	if err := report.Missed(); err != nil {
		return fmt.Errorf("%w\nto repeat this: make soak SEED=%d ARGS='-only together'", err, seed)
	}
	return nil
}

func runScale(ctx context.Context, s size) (err error) {
	if s.children < 100 || s.children%100 != 0 || s.owners < 1 || s.workers < 1 || s.rounds < 1 {
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
	if report.Race, err = trial.Race(ctx, s.owners); err != nil {
		return err
	}
	if report.Sizes, err = trial.Grow(ctx, s.children/10, s.children); err != nil {
		return err
	}
	fmt.Printf("\n%s", report)
	return report.Missed()
}
