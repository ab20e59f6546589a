package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A burst is how fast each contestant creates the children of new owners that appear at once.
type burst struct {
	Kubernetes     string // the version of the API server
	Owners, Rounds int
	// Rates are in the order of the contestants: the median time of the contestant which only applies, divided by the
	// median time of this one.
	Rates []rate
}

type rate struct {
	Name  string
	Ratio float64
}

// measureBursts has all contestants take turns. The more objects an API server has, the slower it is: each round is on
// a new cluster, and another contestant begins. In as many rounds as contestants, each has each turn once.
func measureBursts(ctx context.Context, owners, rounds int) (burst, error) {
	all := contestants()
	times := make([][]time.Duration, len(all))
	measured := burst{Owners: owners, Rounds: rounds}
	for round := range rounds {
		err := onNewCluster(ctx, func(e *environment) (err error) {
			if measured.Kubernetes, err = e.version(); err != nil {
				return err
			}
			return e.burstOfEach(ctx, owners, round, times)
		})
		if err != nil {
			return measured, fmt.Errorf("%d new owners: %w", owners, err)
		}
	}
	for i, c := range all {
		ratio := median(times[onlyApplies()]).Seconds() / median(times[i]).Seconds()
		measured.Rates = append(measured.Rates, rate{c.name, ratio})
	}
	return measured, nil
}

// burstOfEach adds how long each contestant took for new owners. The round says who begins. A first burst is not
// counted: the API server is new.
func (e *environment) burstOfEach(ctx context.Context, owners, round int, times [][]time.Duration) error {
	all := contestants()
	if _, err := e.burst(ctx, all[onlyApplies()], owners); err != nil {
		return err
	}
	for turn := range all {
		i := (turn + round) % len(all)
		took, err := e.burst(ctx, all[i], owners)
		if err != nil {
			return fmt.Errorf("%s: %w", all[i].name, err)
		}
		times[i] = append(times[i], took)
	}
	return nil
}

func median(times []time.Duration) time.Duration {
	sorted, middle := slices.Sorted(slices.Values(times)), len(times)/2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
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
