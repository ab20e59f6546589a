package scale

import (
	"context"
	"fmt"
	"time"
)

// raceParts is how many children each owner has in a race, of kinds that built-in
// controllers do nothing about: what they do would be the same for both, and hide how
// the two differ.
const raceParts = 3

// A Race is how fast an operator makes children of owners that are there already,
// beside a plain client that sends the same requests.
type Race struct {
	Owners, Children int
	Ours, Plain      Runner
}

// A Runner is one of the two: the best of its times, and the requests of one round.
type Runner struct {
	Time     time.Duration
	Requests Requests
}

// String is its rate, in children per second, and what it sent.
func (r Runner) String() string {
	return fmt.Sprintf("%.0f/s, %d creates, %d other requests",
		float64(r.Requests.Created)/r.Time.Seconds(), r.Requests.Created, r.Requests.others())
}

// Ratio is our rate, as a part of the plain client's.
func (r Race) Ratio() float64 { return r.Plain.Time.Seconds() / r.Ours.Time.Seconds() }

// Race lets them run in turn, each time in a new namespace. The plain client goes
// first, when the cluster is emptier.
func (t *Trial) Race(ctx context.Context, owners int) (Race, error) {
	race := Race{Owners: owners, Children: owners * raceParts}
	for round := range t.Rounds {
		plain, err := t.lap(ctx, &race.Plain, owners, t.runPlain)
		if err != nil {
			return race, err
		}
		ours, err := t.lap(ctx, &race.Ours, owners, t.runOurs)
		if err != nil {
			return race, err
		}
		t.say("Race %d of %d: the plain client took %s, ours %s.", round+1, t.Rounds,
			plain.Round(time.Millisecond), ours.Round(time.Millisecond))
	}
	return race, nil
}

type runs func(context.Context, *fleet) (time.Duration, Requests, error)

// lap is one runner's part of a round.
func (t *Trial) lap(ctx context.Context, runner *Runner, owners int, runs runs) (time.Duration, error) {
	f, err := t.newFleet(ctx, owners, raceParts)
	if err != nil {
		return 0, err
	}
	took, requests, err := runs(ctx, f)
	if err != nil {
		return 0, err
	}
	if runner.Time == 0 || took < runner.Time {
		runner.Time, runner.Requests = took, requests
	}
	return took, nil
}

// runOurs takes the time from the start of the controller, whose informers have
// synced, to the end of the last owner's reconcile.
func (t *Trial) runOurs(ctx context.Context, f *fleet) (took time.Duration, requests Requests, err error) {
	err = t.run(ctx, f, func(o *instance) error {
		if took, err = o.begin(ctx); err != nil {
			return fmt.Errorf("the operator failed: %w", err)
		}
		requests, err = o.counter.since(ctx, o.born)
		return err
	})
	return took, requests, err
}
