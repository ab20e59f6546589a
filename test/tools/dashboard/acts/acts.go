// Package acts has two operators at work on a local control plane, before, during and after faults,
// and records the metrics that they serve meanwhile.
package acts

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

// A Plan sets the amount and the pace of the work.
type Plan struct {
	// Interval is the time between two scrapes.
	Interval time.Duration
	// Objects is how many there are of each kind, at least 4.
	Objects int
	// Rest is how long nothing happens between two acts.
	Rest time.Duration
	// Pace is the time between two things that people do.
	Pace time.Duration
	// Outage is how long the API server is down, not counting its start.
	Outage time.Duration
	// Recover makes the run wait at the end until everything has settled, which takes a minute or
	// two.
	Recover bool
}

// Quick returns the shortest plan in which everything happens once.
func Quick() Plan {
	return Plan{Interval: 200 * time.Millisecond, Objects: 4, Pace: 20 * time.Millisecond}
}

// Slow is the plan of which a picture can be drawn.
func Slow() Plan {
	return Plan{
		Interval: time.Second, Objects: 10, Rest: 15 * time.Second, Pace: 2 * time.Second,
		Outage: 12 * time.Second, Recover: true,
	}
}

func (p Plan) quarter() int { return p.Objects / 4 }

// Run carries out a plan.
func Run(ctx context.Context, plan Plan) (recording *record.Recording, err error) {
	e, err := open(ctx, plan)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.began = time.Now()
	scraping, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.scrape(scraping) })
	group.Go(func() error {
		defer stop()
		return e.runPhases(ctx)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return e.recording, nil
}

func (e *environment) runPhases(ctx context.Context) error {
	for _, phase := range []struct {
		name string
		play func(context.Context) error
	}{{"before", e.before}, {"during", e.during}, {"after", e.after}} {
		from := e.now()
		if err := phase.play(ctx); err != nil {
			return err
		}
		e.recording.Phase(phase.name, from, e.now())
	}
	return nil
}

// act runs do, records its duration, and lets the figures settle.
func (e *environment) act(ctx context.Context, name string, do func(context.Context) error) error {
	from := e.now()
	if err := do(ctx); err != nil {
		return err
	}
	e.recording.Act(name, from, e.now())
	return e.rest(ctx)
}

// before is everyday life.
func (e *environment) before(ctx context.Context) error {
	if err := e.rest(ctx); err != nil {
		return err
	}
	if err := e.act(ctx, "objects are created", e.create); err != nil {
		return err
	}
	if err := e.act(ctx, "their specs are changed", e.change); err != nil {
		return err
	}
	return e.act(ctx, "some are deleted", e.remove)
}

// during is the phase of the faults. Faults that begin here and last end with the phase.
func (e *environment) during(ctx context.Context) (err error) {
	var lasting []func() error // what ends the faults
	began := map[string]time.Duration{}
	last := func(name string, begin func(context.Context) (end func() error, err error)) error {
		began[name] = e.now()
		end, err := begin(ctx)
		if err == nil {
			lasting = append(lasting, end)
			err = e.rest(ctx)
		}
		return err
	}
	defer func() {
		for _, end := range lasting {
			err = errors.Join(err, end())
		}
		for name, from := range began {
			e.recording.Act(name, from, e.now())
		}
	}()
	if err := last("a finalizer of others holds deletions up", e.blockDeletion); err != nil {
		return err
	}
	if err := e.act(ctx, "hands edit and delete children", e.editChildren); err != nil {
		return err
	}
	if err := e.act(ctx, "somebody else scales a Deployment, too", e.contest); err != nil {
		return err
	}
	if err := last("a policy refuses changes of Deployments", e.refuseUpdates); err != nil {
		return err
	}
	return e.act(ctx, "there is no API server", e.outage)
}

// after is when nobody does anything any more.
func (e *environment) after(ctx context.Context) error {
	if err := e.untilRemoved(ctx, 2*e.plan.quarter()); err != nil || !e.plan.Recover {
		return err
	}
	if err := e.untilReady(ctx); err != nil {
		return err
	}
	return pass(ctx, 3*e.plan.Rest)
}
