package main

import (
	"cmp"
	"fmt"
)

// targets are upper limits for the figures of a case: ratios of trueup to the peer, and a
// number of allocations. 0 means the usual target, a negative value none.
type targets struct {
	digest, digestAllocs   float64
	nothing, nothingAllocs float64
}

var usual = targets{digest: 0.5, digestAllocs: 1, nothing: 0.25, nothingAllocs: 0.25}

func (s objectCase) goal() targets {
	return targets{
		digest:        cmp.Or(s.targets.digest, usual.digest),
		digestAllocs:  cmp.Or(s.targets.digestAllocs, usual.digestAllocs),
		nothing:       cmp.Or(s.targets.nothing, usual.nothing),
		nothingAllocs: cmp.Or(s.targets.nothingAllocs, usual.nothingAllocs),
	}
}

// A target is a figure and its upper limit.
type target struct{ got, most float64 }

// missed returns 1 if the figure misses the target, rounded as in the table, else 0.
func (t target) missed() int {
	if t.most > 0 && t.got >= t.most+0.005 {
		return 1
	}
	return 0
}

func (t target) text() string { return fmt.Sprintf("%.2f", t.got) }

func (t target) verdict() string {
	switch {
	case t.most <= 0:
		return ""
	case t.missed() > 0:
		return fmt.Sprintf("MISSED, ≤ %.4g", t.most)
	}
	return fmt.Sprintf("≤ %.4g", t.most)
}
