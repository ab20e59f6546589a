package scale

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	Rounds           []Round
}

// A Round is a lap of each of the two, one right after the other.
type Round struct {
	Ours, Plain Lap
}

// A Lap is how long one of them took to make all children, and what it sent.
type Lap struct {
	Time     time.Duration
	Requests Requests
}

// String is its rate, in children per second, and what it sent.
func (l Lap) String() string {
	return fmt.Sprintf("%.0f/s, %d creates, %d other requests",
		float64(l.Requests.Created)/l.Time.Seconds(), l.Requests.Created, l.Requests.others())
}

// Ratio is our rate, as a part of the plain client's.
func (r Round) Ratio() float64 { return r.Plain.Time.Seconds() / r.Ours.Time.Seconds() }

// Median is the round with as many better as worse ones. The best lap of each would
// compare a good moment of the machine with another; the laps of a round share theirs.
func (r Race) Median() Round {
	rounds := slices.SortedFunc(slices.Values(r.Rounds), func(a, b Round) int { return cmp.Compare(a.Ratio(), b.Ratio()) })
	return rounds[(len(rounds)-1)/2] // of an even number the worse of the two in the middle
}

// Race lets them run in turn, each time in a new namespace. Who goes first, when the
// cluster is emptier, goes second in the next round.
func (t *Trial) Race(ctx context.Context, owners int) (Race, error) {
	race := Race{Owners: owners, Children: owners * raceParts}
	for n := range t.Rounds {
		var round Round
		laps := []func() error{
			func() (err error) { round.Plain, err = t.lap(ctx, owners, t.runPlain); return err },
			func() (err error) { round.Ours, err = t.lap(ctx, owners, t.runOurs); return err },
		}
		if n%2 == 1 {
			slices.Reverse(laps)
		}
		for _, lap := range laps {
			if err := lap(); err != nil {
				return race, err
			}
		}
		race.Rounds = append(race.Rounds, round)
		t.say("Race %d of %d: the plain client took %s, ours %s.", n+1, t.Rounds,
			round.Plain.Time.Round(time.Millisecond), round.Ours.Time.Round(time.Millisecond))
	}
	return race, nil
}

type runs func(context.Context, *fleet) (time.Duration, Requests, error)

// lap is one runner's part of a round.
func (t *Trial) lap(ctx context.Context, owners int, runs runs) (Lap, error) {
	f, err := t.newFleet(ctx, owners, raceParts)
	if err != nil {
		return Lap{}, err
	}
	took, requests, err := runs(ctx, f)
	return Lap{Time: took, Requests: requests}, err
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
