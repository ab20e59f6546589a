package canon_test

import (
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/randfill"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// This file compares objects as JSON values: the slow and plain way, from which the comparison of texts must not differ.

// nobodys are the fields of an object that nobody owns.
var nobodys managedfields.Owned

// requireSameAsTrees compares two objects both ways.
func requireSameAsTrees(t require.TestingT, before, after canon.Object) {
	require.Equal(t, compareTrees(t, before, after, false), delta.Diff(before, after, nobodys))
	require.Equal(t, compareTrees(t, before, after, true), delta.Unsatisfied(before, after, nobodys))
}

func compareTrees(t require.TestingT, before, after canon.Object, isPartial bool) []delta.Change {
	_, old, errOld := canon.Form(nil, before, isPartial)
	top, updated, errNew := canon.Form(nil, after, isPartial)
	if errOld != nil || errNew != nil || !canon.SameType(before, after) {
		return []delta.Change{{}}
	}
	c := &treeComparison{t: t, isPartial: isPartial}
	c.values(top, "", old.Value(), updated.Value())
	return c.found
}

// A treeComparison collects the differences of two values.
type treeComparison struct {
	t         require.TestingT
	isPartial bool // values that after does not specify do not count
	found     []delta.Change
}

func (c *treeComparison) add(s canon.Shape, at string, before, after any) {
	c.found = append(c.found, delta.Change{Path: at, Old: s.Shown(c.text(before)), New: s.Shown(c.text(after))})
}

func (c *treeComparison) values(s canon.Shape, at string, before, after any) {
	switch a := after.(type) {
	case map[string]any:
		if b, ok := before.(map[string]any); ok {
			c.members(s, at, b, a)
			return
		}
	case []any:
		if b, ok := before.([]any); ok {
			c.items(s, at, b, a)
			return
		}
	}
	if !isScalar(before) || !isScalar(after) || before != after {
		c.add(s, at, before, after)
	}
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func (c *treeComparison) members(s canon.Shape, at string, before, after map[string]any) {
	names := slices.Sorted(maps.Keys(after))
	if !c.isPartial {
		names = slices.Sorted(maps.Keys(union(before, after)))
	}
	for _, name := range names {
		inner, innerAt := s.Member(at, name)
		b, inBefore := before[name]
		a, inAfter := after[name]
		if inBefore && inAfter {
			c.values(inner, innerAt, b, a)
			continue
		}
		found := len(c.found)
		isEmpty := c.isPartial && !s.IsMap() && isEmptyList(a) // a key of a map has to be there
		if inner.IsAlwaysThere() && (isObject(b) || isObject(a)) {
			c.values(inner, innerAt, orEmpty(b), orEmpty(a))
			isEmpty = c.isPartial
		}
		if len(c.found) == found && !isEmpty {
			c.add(inner, innerAt, b, a)
		}
	}
}

func isEmptyList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

func (c *treeComparison) items(s canon.Shape, at string, before, after []any) {
	item, rule := s.Items()
	if rule.Kind != canon.Atomic {
		c.mergedItems(item, rule, at, before, after)
		return
	}
	for i := range max(len(before), len(after)) {
		itemAt := paths.Item(at, strconv.Itoa(i))
		switch {
		case i >= len(after):
			c.add(item, itemAt, before[i], nil)
		case i >= len(before):
			c.add(item, itemAt, nil, after[i])
		default:
			c.values(item, itemAt, before[i], after[i])
		}
	}
}

// mergedItems matches items by their names, the nth of one name with the nth. A member of a set that
// after has twice may be in before once.
func (c *treeComparison) mergedItems(item canon.Shape, rule *canon.MergeRule, at string, before, after []any) {
	places := make(map[string][]int, len(before)) // where the items with each name are
	for i, b := range before {
		name := nameOf(rule, b)
		places[name] = append(places[name], i)
	}
	isOrdered := rule.Kind == canon.Keyed || !c.isPartial
	last, moved := -1, false
	for _, a := range after {
		name := nameOf(rule, a)
		itemAt := paths.Item(at, name)
		if len(places[name]) == 0 {
			c.add(item, itemAt, nil, a)
			continue
		}
		place := places[name][0]
		if isOrdered {
			places[name] = places[name][1:]
			moved = moved || place < last
			last = max(last, place)
		}
		c.values(item, itemAt, before[place], a)
	}
	for i, b := range before {
		if name := nameOf(rule, b); !c.isPartial && slices.Contains(places[name], i) {
			c.add(item, paths.Item(at, name), b, nil)
		}
	}
	if moved {
		c.found = append(c.found, delta.Change{Path: at})
	}
}

// text returns the canonical form of a value.
func (c *treeComparison) text(value any) canon.Raw {
	if value == nil {
		return nil
	}
	text, err := canon.Append(nil, value)
	require.NoError(c.t, err)
	return text
}

// nameOf returns the name of an item in paths, such as name=app, or a member of a set.
func nameOf(rule *canon.MergeRule, item any) string {
	if rule.Kind == canon.Set {
		return textOf(item)
	}
	members, _ := item.(map[string]any)
	var keys []paths.Key
	for _, key := range rule.Keys {
		if value := key.Text(textOf(members[key.Name])); value != "" || len(rule.Keys) == 1 {
			keys = append(keys, paths.Key{Name: key.Name, Value: value})
		}
	}
	return paths.ItemName(keys)
}

func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	}
	return ""
}

// union returns a map with the keys of both.
func union(a, b map[string]any) map[string]any {
	both := map[string]any{}
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}

// TestComparesAsTrees compares random objects with changed, reordered and quite different ones.
func TestComparesAsTrees(t *testing.T) {
	t.Parallel()
	eachBuiltin(t, 3, func(t *testing.T, gvk schema.GroupVersionKind, random canon.Object, source *rand.Rand) {
		obj, other := throughJSON(t, random), newObject(t, gvk)
		filler(randfill.NewWithSeed(source.Int63())).Fill(other)
		others := []canon.Object{other, newObject(t, gvk), reordered(t, obj, source)}
		for range 5 {
			if mutated, _ := mutate(t, obj, source); mutated != nil {
				others = append(others, mutated, reordered(t, mutated, source))
			}
		}
		for _, other := range others {
			requireSameAsTrees(t, obj, other)
			requireSameAsTrees(t, other, obj)
			requireSameAsTrees(t, asUnstructured(t, obj), asUnstructured(t, other))
		}
	})
}

func asUnstructured(t *testing.T, obj canon.Object) canon.Object {
	t.Helper()
	text, err := json.Marshal(obj)
	require.NoError(t, err)
	return unstructuredOf(t, string(text))
}

// reordered returns a copy of obj with the items of each list in a random order, of which some are there twice.
func reordered(t require.TestingT, obj canon.Object, source *rand.Rand) canon.Object {
	text, err := json.Marshal(obj)
	require.NoError(t, err)
	tree := parsed(t, string(text))
	reorder(tree, source)
	text, err = json.Marshal(tree)
	require.NoError(t, err)
	return fromJSON(t, obj, text)
}

func reorder(value any, source *rand.Rand) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			reorder(value[name], source)
			if list, ok := value[name].([]any); ok && len(list) > 0 && source.Intn(3) == 0 {
				value[name] = append(list, list[source.Intn(len(list))])
			}
		}
	case []any:
		source.Shuffle(len(value), func(i, j int) { value[i], value[j] = value[j], value[i] })
		for _, item := range value {
			reorder(item, source)
		}
	}
}

// TestComparesLongListsAsTrees compares lists that are too long to look through.
func TestComparesLongListsAsTrees(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewSource(1))
	ports := func(n int) canon.Object {
		service := &corev1.Service{}
		for range n {
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
				Port: source.Int31n(60), Protocol: corev1.Protocol([]string{"", "TCP", "UDP"}[source.Intn(3)]), NodePort: source.Int31n(3),
			})
			service.Finalizers = append(service.Finalizers, "example.com/"+strconv.Itoa(source.Intn(60)))
		}
		return service
	}
	for range 300 {
		before := ports(source.Intn(50))
		after := reordered(t, before, source)
		requireSameAsTrees(t, before, after)
		requireSameAsTrees(t, after, before)
		requireSameAsTrees(t, before, ports(source.Intn(50)))
	}
}
