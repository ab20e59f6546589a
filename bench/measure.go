package main

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// A cost is the time and the memory of one run of a function.
type cost struct {
	ns     float64
	allocs float64
	bytes  float64 // where they are measured
}

// least returns the smaller value of each figure.
func (c cost) least(other cost) cost {
	return cost{ns: min(c.ns, other.ns), allocs: min(c.allocs, other.allocs), bytes: min(c.bytes, other.bytes)}
}

// plus returns the sum of c and a part of another cost.
func (c cost) plus(other cost, part float64) cost {
	return cost{ns: c.ns + part*other.ns, allocs: c.allocs + part*other.allocs, bytes: c.bytes + part*other.bytes}
}

// measure runs the functions in turn, for about the duration turn each and as often as rounds
// says, and returns the lowest cost of each. Other load on the machine can only increase a cost,
// and affects functions that run in turn alike.
func measure(rounds int, turn time.Duration, functions ...func() error) ([]cost, error) {
	runs := make([]int, len(functions))
	for i, f := range functions {
		var err error
		if runs[i], err = runsIn(turn, f); err != nil {
			return nil, err
		}
	}
	return measureRuns(rounds, runs, functions...)
}

// measureRuns measures as measure does, with the given numbers of runs.
func measureRuns(rounds int, runs []int, functions ...func() error) ([]cost, error) {
	costs := make([]cost, len(functions))
	for i := range costs {
		costs[i] = cost{ns: math.Inf(1), allocs: math.Inf(1)}
	}
	for range rounds {
		for i, f := range functions {
			c, err := costOf(runs[i], f)
			if err != nil {
				return nil, err
			}
			costs[i] = costs[i].least(c)
		}
	}
	return costs, nil
}

// retries bounds how often a figure that misses the target is measured again.
const retries = 2

// measureRow measures the functions and returns the figures of their costs. It repeats the measurement
// while a figure misses the target, because the machine may have been busy. The lowest of all costs counts.
func (opts options) measureRow(figures func([]cost) []figure, functions ...func() error) ([]figure, error) {
	costs, err := measure(opts.rounds, opts.turn, functions...)
	for try := 0; err == nil && try < retries && anyMissed(figures(costs)); try++ {
		var again []cost
		again, err = measure(opts.rounds, opts.turn, functions...)
		for i, c := range again {
			costs[i] = costs[i].least(c)
		}
	}
	if err != nil {
		return nil, err
	}
	return figures(costs), nil
}

func anyMissed(figures []figure) bool {
	return slices.ContainsFunc(figures, func(f figure) bool { return f.missed() > 0 })
}

// runsIn returns how often f runs within turn. The fastest of three tries counts, because an
// interrupted try would lead to too few runs.
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

// costOf returns the mean of n runs, including garbage collection.
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
