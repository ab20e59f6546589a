package main

import (
	"math"
	"runtime"
	"time"
)

// A cost is of one run of a function.
type cost struct {
	ns     float64
	allocs float64
}

// measure runs functions by turns, rounds times for about turn each, and returns the
// least that each has cost: what else the machine does can only add to that, and by
// turns it adds to all alike.
func measure(rounds int, turn time.Duration, functions ...func() error) ([]cost, error) {
	costs := make([]cost, len(functions))
	runs := make([]int, len(functions))
	for i, f := range functions {
		n, err := runsIn(turn, f)
		if err != nil {
			return nil, err
		}
		costs[i], runs[i] = cost{ns: math.Inf(1), allocs: math.Inf(1)}, n
	}
	for range rounds {
		for i, f := range functions {
			c, err := costOf(runs[i], f)
			if err != nil {
				return nil, err
			}
			costs[i].ns, costs[i].allocs = min(costs[i].ns, c.ns), min(costs[i].allocs, c.allocs)
		}
	}
	return costs, nil
}

// runsIn is how often f runs within turn. The quickest of three tries counts, as one that
// was interrupted would leave too few runs to be a measure.
func runsIn(turn time.Duration, f func() error) (int, error) {
	for n := 1; ; n *= 2 {
		took := time.Duration(math.MaxInt64)
		for range 3 {
			start := time.Now()
			if _, err := costOf(n, f); err != nil {
				return 0, err
			}
			took = min(took, time.Since(start))
		}
		if took >= turn/2 {
			return max(1, int(float64(n)*float64(turn)/float64(took))), nil
		}
	}
}

// costOf is the mean of n runs, garbage collection included.
func costOf(n int, f func() error) (cost, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range n {
		if err := f(); err != nil {
			return cost{}, err
		}
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return cost{
		ns:     float64(took.Nanoseconds()) / float64(n),
		allocs: math.Floor(float64(after.Mallocs-before.Mallocs) / float64(n)), // as testing counts them
	}, nil
}
