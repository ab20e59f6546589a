package main

import (
	"cmp"

	"github.com/trueup-go/trueup/bench/internal/contest"
	"github.com/trueup-go/trueup/bench/internal/replay"
)

// targets are upper limits for the figures of a case: ratios of trueup to the peer, and a
// number of allocations. 0 means the usual target, a negative value none.
type targets struct {
	digest, digestAllocs   float64
	nothing, nothingAllocs float64
}

var usual = targets{digest: 0.5, digestAllocs: 1, nothing: 0.25, nothingAllocs: 0.25}

func (c objectCase) goal() targets {
	return targets{
		digest:        cmp.Or(c.targets.digest, usual.digest),
		digestAllocs:  cmp.Or(c.targets.digestAllocs, usual.digestAllocs),
		nothing:       cmp.Or(c.targets.nothing, usual.nothing),
		nothingAllocs: cmp.Or(c.targets.nothingAllocs, usual.nothingAllocs),
	}
}

// writeLimits are upper limits for ratios of trueup to a peer. 0 means none.
type writeLimits struct{ allocs, cpu float64 }

// writeTargets limit the means over all kinds in recorded passes.
var writeTargets = []struct {
	step, peer string
	writeLimits
}{
	{replay.Create, contest.AsUsual, writeLimits{allocs: 1.7, cpu: 2.2}},
	{replay.Status, contest.AsUsual, writeLimits{allocs: 0.25}},
	{replay.Drift, contest.AsUsual, writeLimits{allocs: 1.2, cpu: 1.9}},
	{replay.Change, contest.AsUsual, writeLimits{allocs: 1.2, cpu: 1.9}},
	{replay.Restart, contest.AllDefaults, writeLimits{allocs: 0.6, cpu: 1.3}},
}

func writeTarget(step, peer string) writeLimits {
	for _, target := range writeTargets {
		if target.step == step && target.peer == peer {
			return target.writeLimits
		}
	}
	return writeLimits{}
}

// longListGrowth is the upper limit for the processor time per item of a long list with keys, relative to the shortest
// of these lists. 0 means none.
const longListGrowth = 2
