package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trueup-go/trueup/bench/internal/contest"
	"github.com/trueup-go/trueup/bench/internal/replay"
)

//go:embed testdata/recorded
var testdata embed.FS

// recordings returns the files that `make bench-record` writes.
func recordings() (fs.FS, error) { return fs.Sub(testdata, "testdata/recorded") }

// peerColumns are the names of the peers in the titles of columns.
var peerColumns = map[string]string{contest.AsUsual: "as usual", contest.AllDefaults: "all defaults", contest.PlainApply: "apply"}

// compareWrites compares passes that were recorded with an API server, whose answers are replayed.
func (opts options) compareWrites(ctx context.Context, children []contest.Child) (section, error) {
	s := section{Title: "Recorded passes", Text: recordedText, Columns: []string{"step", "allocations"}}
	for _, c := range contest.Contestants()[1:] {
		for _, figure := range []string{"allocations", "bytes", "CPU"} {
			s.Columns = append(s.Columns, peerColumns[c.Name]+": "+figure)
		}
	}
	if len(children) == 0 {
		return s, nil
	}
	all, err := openReplays(ctx, children)
	if err != nil {
		return s, err
	}
	for _, step := range replay.Steps() {
		costs, err := opts.measureStep(ctx, step, all)
		if err != nil {
			return s, fmt.Errorf("%s: %w", step, err)
		}
		s.add(step+", mean", meanFigures(step, costs))
		for i, child := range children {
			s.add(step+", "+child.Kind.Kind, writeFigures(step, costs[i], noTarget))
		}
	}
	return s, nil
}

// openReplays returns the replays of all contestants for each child.
func openReplays(ctx context.Context, children []contest.Child) ([][]*replay.Replay, error) {
	files, err := recordings()
	if err != nil {
		return nil, err
	}
	all := make([][]*replay.Replay, len(children))
	for i, child := range children {
		for _, c := range contest.Contestants() {
			r, err := replay.Open(ctx, files, c, child, nil)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], r)
		}
	}
	return all, nil
}

// measureStep returns the costs of a step for each child and contestant. It repeats the measurement while a mean misses
// the target, as measureRow does. The collector is off all the time: where it is turned on in between, the runtime gives
// memory back, and each pass has to fault in another part of that.
func (opts options) measureStep(ctx context.Context, step string, all [][]*replay.Replay) ([][]cost, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	costs := make([][]cost, len(all))
	for i, replays := range all {
		costs[i] = make([]cost, len(replays))
		for j := range replays {
			costs[i][j] = cost{ns: math.Inf(1), allocs: math.Inf(1), bytes: math.Inf(1)}
		}
	}
	for try := 0; try == 0 || try <= retries && anyMissed(meanFigures(step, costs)); try++ {
		for range opts.rounds {
			if err := opts.measureRound(ctx, step, all, costs); err != nil {
				return nil, err
			}
		}
	}
	return costs, nil
}

// measureRound has all contestants take turns, and lowers their costs.
func (opts options) measureRound(ctx context.Context, step string, all [][]*replay.Replay, costs [][]cost) error {
	runs := max(1, int(opts.turn/time.Millisecond))
	for i, replays := range all {
		for j, r := range replays {
			functions := make([]func() error, runs)
			for k := range functions {
				var err error
				if functions[k], err = r.Prepare(ctx, step); err != nil {
					return fmt.Errorf("%s, %s: %w", r.Contestant.Name, r.Child.Kind.Kind, err)
				}
			}
			c, err := threadCost(functions)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", r.Contestant.Name, r.Child.Kind.Kind, err)
			}
			costs[i][j] = costs[i][j].least(c)
		}
	}
	return nil
}

// threadCost returns the mean cost of the functions, in processor time of this thread, which other load on the machine
// hardly changes.
func threadCost(functions []func() error) (cost, error) {
	runtime.GC()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, err := threadTime()
	if err != nil {
		return cost{}, err
	}
	for _, f := range functions {
		if err := f(); err != nil {
			return cost{}, err
		}
	}
	end, err := threadTime()
	runtime.ReadMemStats(&after)
	n := float64(len(functions))
	return cost{
		ns:     float64((end - start).Nanoseconds()) / n,
		allocs: float64(after.Mallocs-before.Mallocs) / n,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
	}, err
}

// threadTime returns the processor time that this thread has used.
func threadTime() (time.Duration, error) {
	var used unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used)
	return time.Duration(used.Nano()), err
}

// meanFigures returns the figures of the means over all children. They have targets if no kind is left out.
func meanFigures(step string, costs [][]cost) []figure {
	means := make([]cost, len(costs[0]))
	for _, ofChild := range costs {
		for j, c := range ofChild {
			means[j] = means[j].plus(c, 1/float64(len(costs)))
		}
	}
	target := writeTarget
	if len(costs) < len(contest.Children()) {
		target = noTarget
	}
	return writeFigures(step, means, target)
}

// writeFigures returns the allocations of trueup, and its costs relative to those of each peer.
func writeFigures(step string, costs []cost, target func(step, peer string) writeLimits) []figure {
	ours := costs[0]
	figures := []figure{{value: ours.allocs, isCount: true}}
	for j, c := range contest.Contestants()[1:] {
		theirs, limits := costs[j+1], target(step, c.Name)
		figures = append(figures,
			figure{value: ours.allocs / theirs.allocs, most: limits.allocs},
			figure{value: ours.bytes / theirs.bytes},
			figure{value: ours.ns / theirs.ns, most: limits.cpu},
		)
	}
	return figures
}

func noTarget(string, string) writeLimits { return writeLimits{} }

//go:embed text/recorded.md
var recordedText string
