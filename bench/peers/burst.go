package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A burst is how fast each contestant creates the children of new owners that appear at once.
type burst struct {
	Owners, Rounds int
	// Rates are the medians of all rounds, in the order of the contestants: the rate divided by that of the
	// contestant which only applies, in the same round.
	Rates []rate
}

type rate struct {
	Name  string
	Ratio float64
}

// measureBursts has all contestants take turns. Each begins a round once. A first round is not counted: the
// API server is new.
func (e *environment) measureBursts(ctx context.Context, owners, rounds int) (burst, error) {
	measured := burst{Owners: owners, Rounds: rounds}
	ratios := make([][]float64, len(contestants()))
	for round := range rounds + 1 {
		times, err := e.burstOfEach(ctx, owners, round)
		if err != nil {
			return measured, fmt.Errorf("%d new owners: %w", owners, err)
		}
		for i, took := range times {
			if round > 0 {
				ratios[i] = append(ratios[i], times[onlyApplies()].Seconds()/took.Seconds())
			}
		}
	}
	for i, c := range contestants() {
		slices.Sort(ratios[i])
		measured.Rates = append(measured.Rates, rate{c.name, ratios[i][rounds/2]})
	}
	return measured, nil
}

// burstOfEach returns how long each contestant took for new owners. The round says who begins.
func (e *environment) burstOfEach(ctx context.Context, owners, round int) ([]time.Duration, error) {
	all := contestants()
	times := make([]time.Duration, len(all))
	for turn := range all {
		i := (turn + round) % len(all)
		var err error
		if times[i], err = e.burst(ctx, all[i], owners); err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].name, err)
		}
	}
	return times, nil
}

func (e *environment) burst(ctx context.Context, c contestant, count int) (took time.Duration, err error) {
	owners, err := e.createOwners(ctx, count)
	if err != nil {
		return 0, err
	}
	o, err := e.start(ctx, c, owners[0].Namespace)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	_, err = o.pass(ctx, owners, 0)
	took = time.Since(began)
	if err == nil {
		err = e.settle(ctx, o)
	}
	if stopErr := o.stop(); err == nil {
		err = stopErr
	}
	return took, err
}
