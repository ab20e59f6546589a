package together

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// planned are the actions of one worker on all objects.
func planned(plan Plan) (actions []scheduledAction, objects []*object) {
	for _, k := range kinds() {
		objects = append(objects, newObjects(k, plan)...)
	}
	return planActions(plan, "hand", objects), objects
}

func TestTheSameSeedMeansTheSameDeeds(t *testing.T) {
	told := func(seed uint64) (all []string) {
		actions, objects := planned(Short(seed))
		for _, o := range objects {
			spec, err := specOf(o.owner)
			require.NoError(t, err)
			all = append(all, fmt.Sprint(o.key, spec))
		}
		for _, d := range actions {
			all = append(all, fmt.Sprint(d, d.random.Uint64()))
		}
		return all
	}
	first, again := told(1), told(1)
	require.Equal(t, first, again)
	require.NotEqual(t, first, told(2))
}

func TestDeedsMakeNoContest(t *testing.T) {
	plan := Long(1)
	plan.Objects = 3 // so that each is met very often
	actions, objects := planned(plan)
	reverted := map[string]int{}
	for _, d := range actions {
		if d.action.reverts != "" {
			reverted[revertKey(d.object, d.action)]++
		}
	}
	most := 0
	for _, n := range reverted {
		most = max(most, n)
	}
	require.Equal(t, maxReverts, most)
	require.Len(t, objects, 3*len(kinds()))
}

func TestWhoMayBeRemovedKeepsItsChildren(t *testing.T) {
	actions, objects := planned(Long(1))
	var last, orphaning int
	for i, d := range actions {
		if d.action.isOrphaning {
			orphaning++
			require.False(t, d.object.isRemovable, d)
		}
		if d.action.isLast {
			last++
			require.True(t, d.object.isRemovable, d)
			require.False(t, slices.ContainsFunc(actions[i+1:], func(later scheduledAction) bool { return later.object == d.object }), d)
		}
	}
	require.Positive(t, last)
	require.Positive(t, orphaning)
	require.Less(t, last, len(objects))
}
