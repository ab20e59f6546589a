package trial

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan is how much is tried.
type Plan struct {
	Seed uint64
	// Owners is the number of custom resources of all kinds together.
	Owners int
	// Duration is how long faults happen and users act.
	Duration time.Duration
	// Users act at the same time, each after every Pause.
	Users int
	Pause time.Duration
	// Quiet is for how long no operator may send a request in the end.
	Quiet time.Duration
	// Rest is the limit of the time from the last fault until everything is as desired.
	Rest time.Duration
	// Earlier means that operators are replaced by a build of an earlier commit for a while.
	Earlier bool
	// Programs is a folder with other builds of the operators to run, by their names; empty for those of this checkout.
	Programs string
}

// New returns the plan of a run with this seed.
func New(seed uint64, count int, duration time.Duration) Plan {
	return Plan{
		Seed: seed, Owners: count, Duration: duration, Users: 8, Pause: time.Second, Rest: restLimit, Earlier: true,
		Quiet: max(min(duration/3, time.Minute), 5*time.Second),
	}
}

// A scheduledAction is an action of a user at a time.
type scheduledAction struct {
	at     time.Duration
	object *object
	action action
	random *rand.Rand
}

func (d scheduledAction) String() string {
	return fmt.Sprintf("%s: %s %s", d.at, d.action.name, d.object.key)
}

const (
	// maxReverts is how often at most the operator has to revert one thing within contestWindow. Five times within two
	// minutes would be a contest, in which operators wait.
	maxReverts    = 3
	contestWindow = 150 * time.Second
)

// A revert names a part of a child of an object that the operator restores.
type revert struct {
	object *object
	part   string
}

// planActions returns the actions of a user on its objects, whatever their results are.
func planActions(plan Plan, name string, objects []*object) []scheduledAction {
	random := randomOf(plan.Seed, name)
	left, reverted := slices.Clone(objects), map[revert][]time.Duration{}
	var planned []scheduledAction
	for at := plan.Pause; at < plan.Duration && len(left) > 0; at += plan.Pause {
		o := pickOfAKind(random, left)
		a := pick(random, slices.DeleteFunc(o.actions(), func(a action) bool {
			return slices.ContainsFunc(a.reverts, func(part string) bool { return isTooMuch(reverted[revert{o, part}], at) })
		})...)
		planned = append(planned, scheduledAction{at: at, object: o, action: a, random: rand.New(rand.NewPCG(random.Uint64(), 0))})
		for _, part := range a.reverts {
			reverted[revert{o, part}] = append(reverted[revert{o, part}], at)
		}
		if a.isLast {
			left = slices.DeleteFunc(left, func(other *object) bool { return other == o })
		}
	}
	return planned
}

// isTooMuch reports whether another revert after those at these times could begin a contest.
func isTooMuch(reverted []time.Duration, at time.Duration) bool {
	return len(reverted) >= maxReverts && at-reverted[len(reverted)-maxReverts] < contestWindow
}

// pickOfAKind picks a kind first, so that all kinds have their share.
func pickOfAKind(random *rand.Rand, objects []*object) *object {
	var kinds []string
	for _, o := range objects {
		if !slices.Contains(kinds, o.kind.Operator) {
			kinds = append(kinds, o.kind.Operator)
		}
	}
	kind := pick(random, kinds...)
	of := slices.DeleteFunc(slices.Clone(objects), func(o *object) bool { return o.kind.Operator != kind })
	return pick(random, of...)
}

// randomOf returns a random source for each name, independent of other names.
func randomOf(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
