// Package faults tests the PostgresWriter operator while its surroundings are stopped, killed or
// frozen: the database, the operator itself, the API server, the holder of the global lock. People
// create, change, move and delete PostgresWriters all the time. Once the work is over and the
// system has settled, the rows have to match the PostgresWriters byte for byte: no row is lost,
// duplicated or left behind.
//
// All random choices follow from a seed, so that a run can be repeated; the timing of the processes
// cannot be repeated.
package faults

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// waitTimeout bounds every wait, including the time to settle. It is no target, but turns an endless
// wait into an error. An informer that lost the API server may take a minute to try again. A
// PostgresWriter that people changed repeatedly while the database was down waits up to five
// minutes for the next attempt.
const waitTimeout = 6 * time.Minute

// A Plan is how much is tried.
type Plan struct {
	Seed uint64
	// Creations and Deletions count the actions of people in each trial and each cluster.
	Creations, Deletions int
	// Outage is how long the database is stopped.
	Outage time.Duration
	// Kills is how often the operator is killed, Restarts how often the API server.
	Kills, Restarts int
	// Takeovers is how often the holder of the global lock is killed. Freezes is how often the
	// holder is frozen in each of the two trials that do so.
	Takeovers, Freezes int
}

// Short takes about a minute.
func Short(seed uint64) Plan {
	return Plan{
		Seed: seed, Creations: 30, Deletions: 15,
		Outage: 3 * time.Second, Kills: 4, Restarts: 1, Takeovers: 1, Freezes: 1,
	}
}

// Long takes some minutes.
func Long(seed uint64) Plan {
	return Plan{
		Seed: seed, Creations: 200, Deletions: 100,
		Outage: 30 * time.Second, Kills: 20, Restarts: 5, Takeovers: 3, Freezes: 3,
	}
}

// A trial is one kind of fault.
type trial struct {
	name string
	run  func(*fixture) error
}

// trials run in parallel and do not affect each other. Each has a database and namespaces of its
// own. The stopped database is on a server of its own, and the killed API server has a cluster of
// its own.
func trials() []trial {
	return []trial{
		{"database stopped", stoppedDatabase},
		{"operator killed", killedOperator},
		{"API server killed", killedServer},
		{"two clusters, one database", neighbours},
		{"holder of the lock killed", killedHolder},
		{"holder of the lock frozen", frozenAnyTime},
		{"holder frozen in a transaction", frozenInTransaction},
	}
}

// Run runs all trials of the plan and prints their progress to out. It returns an error if the
// preparations fail; the errors of the trials are in the report.
func Run(ctx context.Context, plan Plan, out io.Writer) (report Report, err error) {
	fmt.Fprintf(out, "Starting three control planes and two databases. The seed is %d.\n", plan.Seed)
	e, err := open(ctx)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, e.close()) }()

	report = Report{Plan: plan, Results: make([]Result, len(trials()))}
	var group errgroup.Group
	for i, t := range trials() {
		group.Go(func() error {
			report.Results[i] = e.try(ctx, plan, t)
			fmt.Fprintf(out, "%s: %s\n", t.name, report.Results[i].Verdict())
			return nil
		})
	}
	return report, group.Wait()
}

// try runs one trial.
func (e *environment) try(ctx context.Context, plan Plan, t trial) Result {
	begun := time.Now()
	f := &fixture{ctx: ctx, env: e, plan: plan, random: randomOf(plan.Seed, t.name)}
	err := t.run(f)
	f.result.Trial, f.result.Took = t.name, time.Since(begun)
	f.result.Err = errors.Join(err, f.cleanUp())
	if f.result.Missed() != nil {
		f.result.Err = errors.Join(f.result.Err, f.keepLogs())
	}
	return f.result
}

// randomOf is another for each trial, whatever other trials there are.
func randomOf(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
