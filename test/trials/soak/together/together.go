// Package together tests all example operators at once, in one control plane and with one database,
// each as a process with the rights of its own ServiceAccount. Simulated people, called workers, edit
// and delete the children, edit, delete and recreate the owners, and add marks of their own to all
// objects. When the workers stop, every object has to reach its specified state with the marks still
// present, and the operators have to stop sending requests.
//
// The actions of the workers follow from a seed, so that a run can be repeated; their timing relative to
// the operators cannot be repeated.
package together

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// convergenceTimeout is the time limit, once the workers stop, until everything has to be right. Retries
	// usually wait for seconds, and rows are read every few seconds.
	convergenceTimeout = time.Minute
	// waitTimeout bounds all other waits. This is no target, but turns an endless wait into an error.
	waitTimeout = 5 * time.Minute
)

// A Plan is how much is tried.
type Plan struct {
	Seed uint64
	// Objects is how many there are of each operator's kind.
	Objects int
	// Workers are at work at the same time, for as long as the Storm lasts, and each does
	// something after every Pause.
	Workers      int
	Storm, Pause time.Duration
	// Quiet is for how long no operator may send a request in the end.
	Quiet time.Duration
}

// Short takes less than a minute.
func Short(seed uint64) Plan {
	return Plan{Seed: seed, Objects: 10, Workers: 4, Storm: 10 * time.Second, Pause: 250 * time.Millisecond, Quiet: 5 * time.Second}
}

// Long takes some minutes.
func Long(seed uint64) Plan {
	return Plan{Seed: seed, Objects: 100, Workers: 8, Storm: 2 * time.Minute, Pause: 400 * time.Millisecond, Quiet: 20 * time.Second}
}

// Run runs the plan and prints its progress to out. It returns an error if the plan could not be
// run; missed targets are in the report.
func Run(ctx context.Context, plan Plan, out io.Writer) (report Report, err error) {
	fmt.Fprintf(out, "Starting a control plane, a database and %d operators. The seed is %d.\n", len(kinds()), plan.Seed)
	e, err := open(ctx, plan)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, e.close()) }()

	fmt.Fprintf(out, "Making %d objects of each kind, and marking them and their children.\n", plan.Objects)
	if err := e.createObjects(ctx); err != nil {
		return Report{}, errors.Join(err, e.keepLogs(out))
	}
	fmt.Fprintf(out, "%d workers are active for %s.\n", plan.Workers, plan.Storm)
	report, err = e.collectResults(ctx)
	if err != nil || report.Missed() != nil {
		err = errors.Join(err, e.keepLogs(out))
	}
	return report, err
}

// createObjects makes all objects, and waits until they are as they should be, first without
// marks and then with.
func (e *environment) createObjects(ctx context.Context) error {
	if err := e.each(ctx, (*worker).makeAll); err != nil {
		return err
	}
	if _, err := e.settle(ctx, waitTimeout); err != nil {
		return fmt.Errorf("what was made is not as it should be: %w", err)
	}
	if err := e.each(ctx, (*worker).markAll); err != nil {
		return err
	}
	if _, err := e.settle(ctx, waitTimeout); err != nil {
		return fmt.Errorf("what was marked is not as it should be: %w", err)
	}
	return nil
}

// collectResults starts the workers and reports the results.
func (e *environment) collectResults(ctx context.Context) (Report, error) {
	began := e.now()
	if err := e.each(ctx, (*worker).work); err != nil {
		return Report{}, err
	}
	report := Report{Plan: e.plan, Results: make([]Result, len(e.kinds))}
	for i := range e.kinds {
		if err := e.reportStorm(&report.Results[i], i, began); err != nil {
			return Report{}, err
		}
	}
	settled, unrest := e.settle(ctx, convergenceTimeout)
	if settled == nil {
		return Report{}, unrest
	}
	report.Unrest = unrest
	quiet := e.now()
	if err := pass(ctx, e.plan.Quiet); err != nil {
		return Report{}, err
	}
	s, err := e.look(ctx)
	if err != nil {
		return Report{}, err
	}
	report.Marks, _ = e.marks.tally(s)
	for i := range e.kinds {
		report.Results[i].Converged = settled[i]
		if err := e.reportQuiet(&report.Results[i], i, began, quiet); err != nil {
			return Report{}, err
		}
	}
	return report, nil
}

// each calls do for all workers at the same time.
func (e *environment) each(ctx context.Context, do func(*worker, context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, w := range e.workers {
		group.Go(func() error { return do(w, ctx) })
	}
	return group.Wait()
}

// pass waits for a duration, after which a worker acts.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
