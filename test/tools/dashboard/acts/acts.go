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

// Play carries out a plan.
func Play(ctx context.Context, plan Plan) (recording *record.Recording, err error) {
	s, err := open(ctx, plan)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.began = time.Now()
	scraping, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.scrape(scraping) })
	group.Go(func() error {
		defer stop()
		return s.play(ctx)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return s.recording, nil
}

func (s *stage) play(ctx context.Context) error {
	for _, phase := range []struct {
		name string
		play func(context.Context) error
	}{{"before", s.before}, {"during", s.during}, {"after", s.after}} {
		from := s.now()
		if err := phase.play(ctx); err != nil {
			return err
		}
		s.recording.Phase(phase.name, from, s.now())
	}
	return nil
}

// act runs do, records its duration, and lets the figures settle.
func (s *stage) act(ctx context.Context, name string, do func(context.Context) error) error {
	from := s.now()
	if err := do(ctx); err != nil {
		return err
	}
	s.recording.Act(name, from, s.now())
	return s.rest(ctx)
}

// before is everyday life.
func (s *stage) before(ctx context.Context) error {
	if err := s.rest(ctx); err != nil {
		return err
	}
	if err := s.act(ctx, "objects are created", s.create); err != nil {
		return err
	}
	if err := s.act(ctx, "their specs are changed", s.change); err != nil {
		return err
	}
	return s.act(ctx, "some are deleted", s.remove)
}

// during is the phase of the faults. Faults that begin here and last end with the phase.
func (s *stage) during(ctx context.Context) (err error) {
	var lasting []func() error // what ends the faults
	began := map[string]time.Duration{}
	last := func(name string, begin func(context.Context) (end func() error, err error)) error {
		began[name] = s.now()
		end, err := begin(ctx)
		if err == nil {
			lasting = append(lasting, end)
			err = s.rest(ctx)
		}
		return err
	}
	defer func() {
		for _, end := range lasting {
			err = errors.Join(err, end())
		}
		for name, from := range began {
			s.recording.Act(name, from, s.now())
		}
	}()
	if err := last("a finalizer of others holds deletions up", s.holdUp); err != nil {
		return err
	}
	if err := s.act(ctx, "hands edit and delete children", s.meddle); err != nil {
		return err
	}
	if err := s.act(ctx, "somebody else scales a Deployment, too", s.contest); err != nil {
		return err
	}
	if err := last("a policy refuses changes of Deployments", s.refuse); err != nil {
		return err
	}
	return s.act(ctx, "there is no API server", s.outage)
}

// after is when nobody does anything any more.
func (s *stage) after(ctx context.Context) error {
	if err := s.untilRemoved(ctx, 2*s.plan.quarter()); err != nil || !s.plan.Recover {
		return err
	}
	if err := s.untilReady(ctx); err != nil {
		return err
	}
	return pass(ctx, 3*s.plan.Rest)
}
