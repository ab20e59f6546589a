package scale

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// raceParts is the number of children of each owner in a race, of kinds without a built-in
// controller: a controller's work would be the same for both clients and hide their difference.
const raceParts = 3

// A Race is how fast an operator makes children of owners that are there already,
// beside a plain client that sends the same requests.
type Race struct {
	Owners, Children int
	Ours, Plain      []Lap
}

// A Lap holds the time that one client took to create all children, and its requests.
type Lap struct {
	Time     time.Duration
	Requests Requests
}

// String returns the rate, in children per second, and the requests.
func (l Lap) String() string {
	return fmt.Sprintf("%.0f/s, %d creates, %d other requests",
		float64(l.Requests.Created)/l.Time.Seconds(), l.Requests.Created, l.Requests.others())
}

// best returns the quickest lap: other work of the machine can only prolong a lap.
func best(laps []Lap) Lap {
	return slices.MinFunc(laps, func(a, b Lap) int { return cmp.Compare(a.Time, b.Time) })
}

// Ratio is our rate divided by the plain client's: the median of the rounds. The laps of a round
// follow each other, so that a slow minute of the machine affects both clients. The best of all
// laps would be distorted if a quick minute favoured one client.
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
		requests, err = o.counter.since(ctx, o.started)
		return err
	})
	return took, requests, err
}
