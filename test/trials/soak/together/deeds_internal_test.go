package together

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// planned are the deeds of one hand to all objects.
func planned(plan Plan) (deeds []deed, objects []*object) {
	for _, k := range kinds() {
		objects = append(objects, newObjects(k, plan)...)
	}
	return deedsOf(plan, "hand", objects), objects
}

func TestTheSameSeedMeansTheSameDeeds(t *testing.T) {
	told := func(seed uint64) (all []string) {
		deeds, objects := planned(Short(seed))
		for _, o := range objects {
			spec, err := specOf(o.owner)
			require.NoError(t, err)
			all = append(all, fmt.Sprint(o.key, spec))
		}
		for _, d := range deeds {
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
	deeds, objects := planned(plan)
	undone := map[string]int{}
	for _, d := range deeds {
		if d.act.undoes != "" {
			undone[undoingOf(d.object, d.act)]++
		}
	}
	most := 0
	for _, n := range undone {
		most = max(most, n)
	}
	require.Equal(t, undoings, most)
	require.Len(t, objects, 3*len(kinds()))
}

func TestWhoMayBeRemovedKeepsItsChildren(t *testing.T) {
	deeds, objects := planned(Long(1))
	var last, orphaning int
	for i, d := range deeds {
		if d.act.isOrphaning {
			orphaning++
			require.False(t, d.object.isMortal, d)
		}
		if d.act.isLast {
			last++
			require.True(t, d.object.isMortal, d)
			require.False(t, slices.ContainsFunc(deeds[i+1:], func(later deed) bool { return later.object == d.object }), d)
		}
	}
	require.Positive(t, last)
	require.Positive(t, orphaning)
	require.Less(t, last, len(objects))
}
