package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"runtime/debug"
	"time"

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
// the target, as measureRow does. The collector is off.
func (opts options) measureStep(ctx context.Context, step string, all [][]*replay.Replay) ([][]cost, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	measured := make([][]samples, len(all))
	for i, replays := range all {
		measured[i] = make([]samples, len(replays))
	}
	var costs [][]cost
	for try := 0; try == 0 || try <= retries && anyMissed(meanFigures(step, costs)); try++ {
		for range opts.rounds {
			if err := opts.measureRound(ctx, step, all, measured); err != nil {
				return nil, err
			}
		}
		costs = costsOf(measured)
	}
	return costs, nil
}

// measureRound has all contestants take turns, and adds samples to those of each.
func (opts options) measureRound(ctx context.Context, step string, all [][]*replay.Replay, measured [][]samples) error {
	for i, replays := range all {
		for j, r := range replays {
			err := measured[i][j].add(max(1, int(opts.turn/passTurn)), func() (func() error, error) { return r.Prepare(ctx, step) })
			if err != nil {
				return fmt.Errorf("%s, %s: %w", r.Contestant.Name, r.Child.Kind.Kind, err)
			}
		}
	}
	return nil
}

// passTurn is the part of a turn that one pass is given.
const passTurn = 2 * time.Millisecond

func costsOf(measured [][]samples) [][]cost {
	costs := make([][]cost, len(measured))
	for i, ofChild := range measured {
		for _, s := range ofChild {
			costs[i] = append(costs[i], s.cost())
		}
	}
	return costs
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
