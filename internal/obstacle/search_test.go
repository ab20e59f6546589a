package obstacle_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/obstacle"
)

// A limit is how many of some fields an object may have.
type limit struct {
	fields []string
	most   int
}

// A judge accepts an object within its limits.
type judge struct {
	limits []limit
	// needs says which field another one needs.
	needs map[string]string

	asked map[string]bool
}

func (j *judge) try(without []obstacle.Obstacle) (obstacle.Answer, error) {
	gone := textsOf(without)
	slices.Sort(gone)
	gone = slices.Compact(gone)
	j.asked[strings.Join(gone, " ")] = true
	for _, l := range j.limits {
		left := slices.DeleteFunc(slices.Clone(l.fields), func(field string) bool { return slices.Contains(gone, field) })
		if len(left) > l.most {
			return obstacle.Answer{Refusal: fmt.Sprint("at most ", l.most)}, nil
		}
	}
	for field, needed := range j.needs {
		if slices.Contains(gone, needed) && !slices.Contains(gone, field) {
			return obstacle.Answer{Refusal: field + " needs " + needed}, nil
		}
	}
	return obstacle.Answer{Accepted: true}, nil
}

func some(count int) []obstacle.Obstacle {
	var all []obstacle.Obstacle
	for i := range count {
		all = append(all, named(fmt.Sprintf("f%03d", i)))
	}
	return all
}

func named(name string) obstacle.Obstacle {
	return obstacle.Obstacle{Path: fieldpath.MakePathOrDie(name)}
}

// search returns the needed obstacles among candidates, whether they suffice, and how many trials that took.
func (j *judge) search(t *testing.T, candidates, fixed []obstacle.Obstacle, first int) (needed []string, suffices bool, trials int) {
	t.Helper()
	j.asked = map[string]bool{}
	refusal, err := j.try(nil)
	require.NoError(t, err)
	require.False(t, refusal.Accepted)
	j.asked = map[string]bool{}
	s := obstacle.Search{Try: j.try, First: first, Refusal: refusal}
	enough, err := s.Enough(candidates)
	require.NoError(t, err)
	found, err := s.Needed(enough, candidates, fixed)
	require.NoError(t, err)
	answer, err := j.try(found)
	require.NoError(t, err)
	needed, trials = textsOf(found), len(j.asked)
	least, err := s.Least(candidates)
	require.NoError(t, err)
	requireLeast(t, j, least)
	slices.Sort(needed)
	return needed, answer.Accepted, trials
}

// requireLeast requires that least suffice, and that none of them can stay.
func requireLeast(t *testing.T, j *judge, least []obstacle.Obstacle) {
	t.Helper()
	for i := range least {
		answer, err := j.try(slices.Delete(slices.Clone(least), i, i+1))
		require.NoError(t, err)
		require.False(t, answer.Accepted, "%v, without %d", textsOf(least), i)
	}
	answer, err := j.try(least)
	require.NoError(t, err)
	require.True(t, answer.Accepted || len(least) == 0)
}

func TestSearch(t *testing.T) {
	for name, tc := range map[string]struct {
		why      string
		judge    judge
		fixed    []obstacle.Obstacle
		first    int
		needed   []string
		suffices bool
	}{
		"one conflict": {
			"it goes", judge{limits: []limit{{[]string{"f007"}, 0}}}, nil, 1, []string{"f007"}, true,
		},
		"two conflicts": {
			"they go together", judge{limits: []limit{{[]string{"f003", "f017"}, 0}}}, nil, 1, []string{"f003", "f017"}, true,
		},
		"a full list": {
			"any of them could go", judge{limits: []limit{{[]string{"f000", "f001", "f002"}, 2}}}, nil, 1, nil, false,
		},
		"a full list with a conflict": {
			"one of them has to go anyhow",
			judge{limits: []limit{{[]string{"f000", "f001", "f002"}, 2}, {[]string{"f001"}, 0}}},
			nil, 3,
			[]string{"f001"},
			true,
		},
		"a list that is full of what another program applies": {
			"that could go, too", judge{limits: []limit{{[]string{"f000", "fixed"}, 1}}}, []obstacle.Obstacle{named("fixed")}, 1, nil, false,
		},
		"a full list, and a field that needs what another program applies": {
			"the refusal of the larger set says nothing",
			judge{limits: []limit{{[]string{"f000", "f001"}, 1}}, needs: map[string]string{"ours": "fixed"}},
			[]obstacle.Obstacle{named("fixed")},
			1, nil, false,
		},
		"a conflict, and a field that needs what another program applies": {
			"a smaller set tells",
			judge{limits: []limit{{[]string{"f001"}, 0}}, needs: map[string]string{"ours": "fixed"}},
			[]obstacle.Obstacle{named("fixed")},
			1,
			[]string{"f001"},
			true,
		},
		"a sidecar that needs a volume": {
			"neither is in the way",
			judge{limits: []limit{{[]string{"f019"}, 0}}, needs: map[string]string{"f015": "f004", "f004": "f001"}},
			nil, 1,
			[]string{"f019"},
			true,
		},
		"nothing helps": {
			"it is not because of others", judge{limits: []limit{{[]string{"ours"}, 0}}}, nil, 1, nil, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			needed, suffices, _ := tc.judge.search(t, some(20), tc.fixed, tc.first)
			require.Empty(t, cmp.Diff(tc.needed, needed), tc.why)
			require.Equal(t, tc.suffices, suffices, tc.why)
		})
	}
}

// TestSearchTakesWhatHasToGo: whatever the limits are, a field is needed only if no object with the field fits, and
// each such field is if they suffice.
func TestSearchTakesWhatHasToGo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		all := some(1 + random.IntN(40))
		var j judge
		var must []string
		isUndecided := false
		for range 1 + random.IntN(3) {
			var fields []string
			for _, i := range random.Perm(len(all))[:1+random.IntN(min(len(all), 6))] {
				fields = append(fields, textsOf(all[i:i+1])...)
			}
			most := random.IntN(len(fields))
			if most == 0 {
				must = append(must, fields...)
			}
			isUndecided = isUndecided || most > 0
			j.limits = append(j.limits, limit{fields, most})
		}
		slices.Sort(must)
		must = slices.Compact(must)
		needed, suffices, _ := j.search(t, all, nil, 1+random.IntN(3))
		require.Subset(t, must, needed, "%v", j.limits)
		require.True(t, suffices || isUndecided, "%v", j.limits)
		if suffices {
			require.Empty(t, cmp.Diff(must, needed), "%v", j.limits)
		}
	}
}

// TestSearchOfFieldsAround: of a list and two of its items, the two items go, and of a required field and the struct
// around it, the struct.
func TestSearchOfFieldsAround(t *testing.T) {
	around := obstacle.Obstacle{Path: fieldpath.MakePathOrDie("items")}
	first := obstacle.Obstacle{Path: fieldpath.MakePathOrDie("items", "first")}
	second := obstacle.Obstacle{Path: fieldpath.MakePathOrDie("items", "second")}
	for name, tc := range map[string]struct {
		accepts func(gone []string) bool
		want    []string
	}{
		"items": {func(gone []string) bool {
			return slices.Contains(gone, "items") || slices.Contains(gone, "items.first") && slices.Contains(gone, "items.second")
		}, []string{"items.first", "items.second"}},
		"a struct": {func(gone []string) bool { return slices.Contains(gone, "items") }, []string{"items"}},
	} {
		for _, candidates := range [][]obstacle.Obstacle{{first, second, around}, {around, first, second}} {
			s := obstacle.Search{First: 3, Refusal: obstacle.Answer{Refusal: "no"}, Try: func(without []obstacle.Obstacle) (obstacle.Answer, error) {
				return obstacle.Answer{Accepted: tc.accepts(textsOf(without)), Refusal: "no"}, nil
			}}
			needed, err := s.Needed(candidates, candidates, nil)
			require.NoError(t, err)
			require.ElementsMatch(t, tc.want, textsOf(needed), name)
		}
	}
}

// TestSearchBehindOneMessage: one rule with one message refuses what conflicts, and what lacks what it needs.
func TestSearchBehindOneMessage(t *testing.T) {
	all := some(4)
	s := obstacle.Search{First: 2, Refusal: obstacle.Answer{Refusal: "no"}, Try: func(without []obstacle.Obstacle) (obstacle.Answer, error) {
		gone := textsOf(without)
		isBroken := slices.Contains(gone, "f001") && !slices.Contains(gone, "f002") // which needs it
		return obstacle.Answer{Accepted: slices.Contains(gone, "f003") && !isBroken, Refusal: "no"}, nil
	}}
	enough, err := s.Enough(all)
	require.NoError(t, err)
	needed, err := s.Needed(enough, all, nil)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]string{"f003"}, textsOf(needed)))
}

// TestTrialsOfASearch: docs/design/repair.md says how many trials a search takes at most, wherever the conflicts are.
func TestTrialsOfASearch(t *testing.T) {
	most := func(candidates, conflicts int) int {
		all, result := some(candidates), 0
		var visit func(from int, chosen []string)
		visit = func(from int, chosen []string) {
			if len(chosen) == conflicts {
				j := judge{limits: []limit{{chosen, 0}}}
				needed, _, trials := j.search(t, all, nil, 1)
				require.Empty(t, cmp.Diff(chosen, needed))
				result = max(result, trials)
				return
			}
			for i := from; i < candidates; i++ {
				visit(i+1, append(slices.Clone(chosen), textsOf(all[i:i+1])...))
			}
		}
		visit(0, nil)
		return result
	}
	require.Equal(t, 8, most(10, 1))
	require.Equal(t, 10, most(50, 1))
	require.Equal(t, 12, most(200, 1))
	require.Equal(t, 14, most(10, 2))
	require.Equal(t, 18, most(34, 2))

	named := judge{limits: []limit{{[]string{"f000", "f001", "f002", "f003"}, 0}}}
	_, suffices, trials := named.search(t, some(200), nil, 4)
	require.True(t, suffices)
	require.Equal(t, 10, trials, "four that the API server names")
}

func TestSearchBreaksOff(t *testing.T) {
	j := judge{limits: []limit{{[]string{"f003", "f011", "f019"}, 0}}}
	_, _, trials := j.search(t, some(20), nil, 1)
	errBroken := errors.New("broken")
	for end := range trials - 1 {
		j.asked = map[string]bool{}
		s := obstacle.Search{First: 1, Refusal: obstacle.Answer{Refusal: "at most 0"}, Try: func(without []obstacle.Obstacle) (obstacle.Answer, error) {
			answer, err := j.try(without)
			if len(j.asked) > end {
				return obstacle.Answer{}, errBroken
			}
			return answer, err
		}}
		enough, err := s.Enough(some(20))
		if err == nil {
			_, err = s.Needed(enough, some(20), nil)
		}
		require.ErrorIs(t, err, errBroken, "after %d", end)
	}
}
