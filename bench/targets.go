package main

import "cmp"

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
