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
	Ours, Plain      []Lap
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

// best is the quickest: what else the machine does makes a lap longer, nothing makes it
// shorter.
func best(laps []Lap) Lap {
	return slices.MinFunc(laps, func(a, b Lap) int { return cmp.Compare(a.Time, b.Time) })
}

// Ratio is our rate, as a part of the plain client's: the median of the rounds. The laps of
// a round follow each other, so that what else a machine does for minutes concerns both; the
// best of all laps may fall into a quick minute for one, and not for the other.
func (r Race) Ratio() float64 {
	ratios := make([]float64, len(r.Ours))
	for i := range ratios {
		ratios[i] = r.Plain[i].Time.Seconds() / r.Ours[i].Time.Seconds()
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// Race lets them run in turn, each time in a new namespace, and each going first in every
// other round. A round before does not count: the first laps meet an empty cluster.
func (t *Trial) Race(ctx context.Context, owners int) (Race, error) {
	race := Race{Owners: owners, Children: owners * raceParts}
	for round := range t.Rounds + 1 {
		var ours, plain Lap
		laps := []func() error{
			func() (err error) { plain, err = t.lap(ctx, owners, t.runPlain); return err },
			func() (err error) { ours, err = t.lap(ctx, owners, t.runOurs); return err },
		}
		if round%2 == 1 {
			slices.Reverse(laps)
		}
		for _, lap := range laps {
			if err := lap(); err != nil {
				return race, err
			}
		}
		t.say("Race %d of %d: the plain client took %s, ours %s.", round, t.Rounds,
			plain.Time.Round(time.Millisecond), ours.Time.Round(time.Millisecond))
		if round > 0 {
			race.Ours, race.Plain = append(race.Ours, ours), append(race.Plain, plain)
		}
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
