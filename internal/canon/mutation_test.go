package canon_test

import (
	"encoding/json"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
)

// mutation is one place in an object's JSON, changed or removed.
type mutation struct {
	path    []any // names and indexes
	removed bool
}

// ofItem reports whether a member of a list's item was changed or removed. It may be
// part of the item's key, and without it the item another one, which no comparison of
// JSON can know; the server's own merge does, see below.
func (m mutation) ofItem() bool {
	if len(m.path) < 2 {
		return false
	}
	_, ok := m.path[len(m.path)-2].(int)
	return ok
}

// mutate changes or removes one value of obj at random, outside status and the
// metadata that is not specified. It returns nil if the type cannot hold that.
func mutate(t require.TestingT, obj canon.Object, source *rand.Rand) (canon.Object, mutation) {
	text, err := json.Marshal(obj)
	require.NoError(t, err)
	tree := parsed(t, string(text)).(map[string]any)
	var places [][]any
	for name, v := range tree {
		if metadata, ok := v.(map[string]any); ok && name == "metadata" {
			for _, part := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
				places = append(places, placesIn(metadata[part], []any{"metadata", part})...)
			}
		} else if name != "status" {
			places = append(places, placesIn(v, []any{name})...)
		}
	}
	if len(places) == 0 {
		return nil, mutation{}
	}
	slices.SortFunc(places, func(a, b []any) int { return strings.Compare(pathText(a), pathText(b)) })
	m := mutation{path: places[source.Intn(len(places))], removed: source.Intn(3) == 0}
	for _, text := range []any{nil, "7", json.Number("7"), true, false} {
		changed := throughTree(tree, m, text)
		mutated := newLike(obj)
		if json.Unmarshal(changed, mutated) == nil {
			return mutated, m
		}
	}
	return nil, m
}

func pathText(path []any) string {
	text, _ := json.Marshal(path)
	return string(text)
}

// placesIn lists the paths of all scalars and list items in v.
func placesIn(v any, path []any) (places [][]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			places = append(places, placesIn(inner, append(slices.Clone(path), name))...)
		}
	case []any:
		for i, inner := range v {
			places = append(places, placesIn(inner, append(slices.Clone(path), i))...)
		}
	case nil:
	default:
		places = append(places, path)
	}
	return places
}

// throughTree returns the JSON of tree with m done to it.
func throughTree(tree any, m mutation, replacement any) []byte {
	text, _ := json.Marshal(changedAt(tree, m.path, m.removed, replacement))
	return text
}

func changedAt(v any, path []any, remove bool, replacement any) any {
	if len(path) == 0 {
		return changedScalar(v, replacement)
	}
	switch holder := v.(type) {
	case map[string]any:
		name := path[0].(string)
		changed := map[string]any{}
		maps.Copy(changed, holder)
		if changed[name] = changedAt(holder[name], path[1:], remove, replacement); remove && len(path) == 1 {
			delete(changed, name)
		}
		return changed
	case []any:
		i := path[0].(int)
		changed := slices.Clone(holder)
		if remove && len(path) == 1 && len(holder) > 1 { // an emptied list is another matter
			return slices.Delete(changed, i, i+1)
		}
		changed[i] = changedAt(holder[i], path[1:], remove, replacement)
		return changed
	}
	return v
}

func changedScalar(v, replacement any) any {
	if replacement != nil {
		return replacement
	}
	switch v := v.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case json.Number:
		return json.Number("1")
	}
	return v
}

func newLike(obj canon.Object) canon.Object {
	copied := obj.DeepCopyObject().(canon.Object)
	zero(copied)
	return copied
}

// eachMutation runs check on random objects and one changed copy each. Objects
// with duplicate keys are left out: nothing is promised of them.
func eachMutation(t *testing.T, check func(t *testing.T, gvk schema.GroupVersionKind, obj, mutated canon.Object, m mutation)) {
	t.Helper()
	mutations := 5
	if testing.Short() {
		mutations = 1
	}
	eachBuiltin(t, 3, func(t *testing.T, gvk schema.GroupVersionKind, random canon.Object, source *rand.Rand) {
		obj := throughJSON(t, random)
		if _, err := canon.Body(obj, gvk, "", ""); err != nil {
			return
		}
		for range mutations {
			mutated, m := mutate(t, obj, source)
			if mutated == nil {
				continue
			}
			check(t, gvk, obj, mutated, m)
		}
	})
}

// manyMutations is a number that eachMutation exceeds by far if it works.
func manyMutations() int {
	if testing.Short() {
		return 1000 / (2 * 3 * 5) // the same share of those that are tried
	}
	return 1000
}

// Every change that the API would see changes the form, and nothing else does.
func TestChangesAreSeen(t *testing.T) {
	t.Parallel()
	seen := 0
	eachMutation(t, func(t *testing.T, _ schema.GroupVersionKind, obj, mutated canon.Object, m mutation) {
		same := form(t, obj) == form(t, mutated)
		require.Equal(t, same, len(delta.Diff(obj, mutated, nobodys)) == 0, "%v", m)
		if before, after := specified(t, obj), specified(t, mutated); !equality.Semantic.DeepEqual(before, after) {
			require.False(t, same, "%v", m)
			seen++
		} else if reflect.DeepEqual(before, after) {
			require.True(t, same, "%v", m)
		}
	})
	t.Cleanup(func() { require.Greater(t, seen, manyMutations(), "the mutations do nothing") })
}

// What was changed or removed does not satisfy, and the list of places says so.
func TestChangesDoNotSatisfy(t *testing.T) {
	t.Parallel()
	eachMutation(t, func(t *testing.T, _ schema.GroupVersionKind, obj, mutated canon.Object, m mutation) {
		require.True(t, delta.Satisfies(obj, obj, nobodys))
		require.Empty(t, delta.Unsatisfied(obj, obj, nobodys))
		if m.ofItem() {
			return
		}
		added := contains(parsed(t, form(t, mutated)), parsed(t, form(t, obj))) // a zero that was left out
		require.Equal(t, added, delta.Satisfies(mutated, obj, nobodys), "%v", m)
		require.Equal(t, added, len(delta.Unsatisfied(mutated, obj, nobodys)) == 0, "%v", m)
		require.Equal(t, delta.Satisfies(obj, mutated, nobodys), len(delta.Unsatisfied(obj, mutated, nobodys)) == 0, "%v", m)
	})
}

func parsed(t require.TestingT, text string) (v any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // a float64 would round large integers
	require.NoError(t, decoder.Decode(&v))
	return v
}

// contains reports whether whole has all members of part, and the same lists.
func contains(whole, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		whole, ok := whole.(map[string]any)
		for name, v := range part {
			ok = ok && contains(whole[name], v)
		}
		return ok
	case []any:
		whole, ok := whole.([]any)
		ok = ok && len(whole) == len(part)
		for i := 0; ok && i < len(part); i++ {
			ok = contains(whole[i], part[i])
		}
		return ok
	default:
		return whole == part
	}
}

// The server's own merge is the judge: live satisfies desired exactly if an
// apply of desired changes nothing. It has the schema; canon has struct tags.
func TestSatisfiesAgreesWithTheServersMerge(t *testing.T) {
	t.Parallel()
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	toTyped := func(gvk schema.GroupVersionKind, obj canon.Object) (*typed.TypedValue, error) {
		body, err := canon.Body(obj, gvk, "", "")
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		require.NoError(t, u.UnmarshalJSON(body))
		return converter.ObjectToTyped(u)
	}
	judged := 0
	eachMutation(t, func(t *testing.T, gvk schema.GroupVersionKind, desired, live canon.Object, m mutation) {
		d, errDesired := toTyped(gvk, desired)
		l, errLive := toTyped(gvk, live)
		if errDesired != nil || errLive != nil {
			return // no schema, or a set with two equal members
		}
		judged++
		merged, err := l.Merge(d)
		require.NoError(t, err)
		comparison, err := l.Compare(merged)
		require.NoError(t, err)
		if comparison.IsSame() != delta.Satisfies(live, desired, nobodys) {
			t.Errorf("%v: server %v, canon %v\n%s", m, comparison.IsSame(), delta.Satisfies(live, desired, nobodys), comparison)
		}
	})
	t.Cleanup(func() { require.Greater(t, judged, manyMutations(), "the schema knows nothing") })
}
