package trial

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// planned returns the faults and the actions of a plan, and all objects.
func planned(plan Plan) (lanes []lane, actions []scheduledAction, objects []*object) {
	e := &environment{plan: plan, kinds: owners.All(), operators: map[string]*operatorPair{}}
	for _, k := range e.kinds {
		e.operators[k.Operator] = &operatorPair{kind: k}
		objects = append(objects, newObjects(k, plan)...)
	}
	return e.lanes(), planActions(plan, "user-0", objects), objects
}

func TestSeed(t *testing.T) {
	describe := func(seed uint64) (all []string) {
		lanes, actions, objects := planned(New(seed, 50, time.Minute))
		for _, l := range lanes {
			for _, f := range l.faults {
				all = append(all, fmt.Sprint(l.name, f.at, f.lasts, f.what))
			}
		}
		for _, o := range objects {
			spec, err := owners.SpecOf(o.owner)
			require.NoError(t, err)
			all = append(all, fmt.Sprint(o.key, spec))
		}
		for _, d := range actions {
			all = append(all, fmt.Sprint(d, d.random.Uint64()))
		}
		return all
	}
	first, again := describe(1), describe(1)
	require.Equal(t, first, again)
	require.NotEqual(t, first, describe(2))
}

func TestLanesHaveAllFaults(t *testing.T) {
	lanes, _, _ := planned(New(1, 50, 10*time.Minute))
	require.Len(t, lanes, 10)
	for _, l := range lanes {
		count := map[string]int{}
		var end time.Duration
		for _, f := range l.faults {
			count[f.what]++
			require.Greater(t, f.at, end, "%s: %s begins after the fault before", l.name, f.what)
			end = f.at + f.lasts
		}
		require.Greater(t, len(l.faults), 15, l.name)
		for what, n := range count {
			require.GreaterOrEqual(t, n, len(l.faults)/len(count), "%s: %s", l.name, what)
		}
	}
}

func TestActionsMakeNoContest(t *testing.T) {
	plan := New(1, 15, 20*time.Minute) // so that each object is met very often
	_, actions, _ := planned(plan)
	reverted := map[revert][]time.Duration{}
	for _, d := range actions {
		for _, part := range d.action.reverts {
			reverted[revert{d.object, part}] = append(reverted[revert{d.object, part}], d.at)
		}
	}
	most := 0
	for key, times := range reverted {
		for i, first := range times {
			within := slices.IndexFunc(times[i:], func(at time.Duration) bool { return at-first >= contestWindow })
			if within < 0 {
				within = len(times) - i
			}
			require.LessOrEqual(t, within, maxReverts, "%s: %s", key.object.key, key.part)
			most = max(most, within)
		}
	}
	require.Equal(t, maxReverts, most)
}

func TestActionsLeaveAProof(t *testing.T) {
	_, actions, objects := planned(New(1, 20, 10*time.Minute)) // so that some objects are removed
	var last int
	for i, d := range actions {
		if d.action.isLast {
			last++
			require.True(t, d.object.isRemovable, d)
			require.False(t, slices.ContainsFunc(actions[i+1:], func(later scheduledAction) bool { return later.object == d.object }), d)
		}
	}
	require.Positive(t, last)
	require.Less(t, last, len(objects))
	for _, o := range objects {
		names := map[string]bool{}
		for _, a := range o.actions() {
			names[a.name] = true
		}
		for i := range o.children() {
			_, child, _ := o.child(i)
			kind := child.Kind()
			require.False(t, names["take the owner from the "+kind+" of"] && names["take the managed fields from the "+kind+" of"], o.key)
		}
	}
}
