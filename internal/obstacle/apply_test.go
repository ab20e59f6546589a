package obstacle_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// TestTrialIsTheApply: a trial without some of the obstacles makes of an object what the API server makes of it after
// they are removed. Dropped is what the apply removes.
func TestTrialIsTheApply(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := &server{T: t, kind: someKind(random), managers: fieldpath.ManagedFields{}}
		desired := someObject(random, s.kind, s.someHistory(random))
		live, before := s.object(), s.fields()

		all := fieldpath.NewSet()
		if !isShown(s.kind.TypeRef, members(s.live), s.owned()) || isOneIn(2, random) {
			all = before
		}
		m := obstacle.Of(live, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(desired)}, owner, all)
		without, dropped := someOf(random, m.Obstacles(nil)), m.Dropped()
		got := patched(t, live.Object, m.Trial(without))
		delete(got, "metadata")
		s.takeOver(without)
		want := s.apply(owner, desired)
		require.Empty(t, cmp.Diff(inOrder(want), inOrder(got), nothingLeft), "seed %d", seed)
		own := managedfields.Fields(managedfields.Applied(live, owner)).Intersection(before)
		requireGone(t, slices.Concat(dropped, without), own, s.fields())
	}
}

// inOrder returns a value with all items in the order of their keys. A trial need not have the order of the API server.
func inOrder(value any) any {
	switch value := value.(type) {
	case map[string]any:
		members := map[string]any{}
		for name, member := range value {
			members[name] = inOrder(member)
		}
		return members
	case []any:
		items := make([]any, 0, len(value))
		for _, item := range value {
			items = append(items, inOrder(item))
		}
		slices.SortStableFunc(items, func(a, b any) int { return keyOf(a) - keyOf(b) })
		return items
	}
	return value
}

// nothingLeft accepts what a trial leaves of a map or list that the apply empties. The merge has null there, which no
// API server stores.
var nothingLeft = cmp.FilterPath(func(path cmp.Path) bool {
	member, ok := path.Last().(cmp.MapIndex)
	if !ok {
		return false
	}
	want, got := member.Values()
	return want.IsValid() && want.IsNil() && (!got.IsValid() || isEmpty(got.Interface()))
}, cmp.Ignore())

// isEmpty reports whether a value is an empty map or list.
func isEmpty(value any) bool {
	members, isMap := value.(map[string]any)
	items, isList := value.([]any)
	return (isMap || isList) && len(members)+len(items) == 0
}

// requireGone requires that these obstacles are gone, and no other fields of the field owner.
func requireGone(t *testing.T, gone []obstacle.Obstacle, own, left *fieldpath.Set) {
	t.Helper()
	for _, o := range gone {
		require.False(t, managedfields.Holds(left, o.Path), "%v stays", o.Path)
	}
	own.Leaves().Iterate(func(path fieldpath.Path) {
		isInside := func(o obstacle.Obstacle) bool { return o.Contains(path) }
		require.True(t, managedfields.Holds(left, path) || slices.ContainsFunc(gone, isInside), "%v goes", path)
	})
}

// isShown reports whether the managed fields show how all maps and lists of live are merged: somebody owns each map
// that is written as a whole and an item of each list with keys, and a map that is applied empty is empty.
func isShown(t schema.TypeRef, live any, owned *fieldpath.Set) bool {
	switch live := live.(type) {
	case map[string]any:
		for name, member := range live {
			element, inner := fieldpath.FieldNameElement(name), typeOf(t.Inlined.Map, name)
			below := owned.WithPrefix(element)
			inside, _ := member.(map[string]any)
			looksWhole := owned.Members.Has(element) && below.Empty()
			isWhole := len(inside) > 0 && inner.Inlined.Map.ElementRelationship == schema.Atomic
			if len(inside) > 0 && looksWhole != isWhole || !isWhole && !isShown(inner, member, below) {
				return false
			}
		}
	case []any:
		list := t.Inlined.List
		isShownItem := func(item any) bool {
			return !owned.Empty() && isShown(list.ElementType, item, owned.WithPrefix(elementOf(list, item)))
		}
		return list.ElementRelationship == schema.Atomic || !slices.ContainsFunc(live, func(item any) bool { return !isShownItem(item) })
	}
	return true
}

// elementOf returns the name of an item with keys.
func elementOf(t *schema.List, item any) fieldpath.PathElement {
	key := value.FieldList{}
	for _, name := range t.Keys {
		key = append(key, value.Field{Name: name, Value: value.NewValueInterface(item.(map[string]any)[name])})
	}
	return fieldpath.PathElement{Key: &key}
}

// A server has one object, and merges with what API servers merge with.
type server struct {
	*testing.T

	kind     typed.ParseableType
	live     *typed.TypedValue
	managers fieldpath.ManagedFields // by name
}

// someHistory lets several managers write the object, and returns what the field owner has applied.
func (s *server) someHistory(c chooser) map[string]any {
	var last map[string]any
	s.store(map[string]any{})
	for range 2 + c.IntN(4) {
		some := someObject(c, s.kind, members(s.live))
		switch c.IntN(12) {
		case 0, 1, 2, 3:
			last = someObject(c, s.kind, last)
			s.apply(owner, last)
		case 4:
			s.apply("flux", some)
		case 5:
			s.apply("argo", some)
		case 6, 7, 8, 9:
			s.update("kubectl-edit", some)
		case 10:
			s.setDefaults(some)
		case 11:
			s.managers = fieldpath.ManagedFields{} // somebody empties them
		}
	}
	return last
}

// apply returns the merged object, with null for a map or list of which nothing is left.
func (s *server) apply(manager string, config map[string]any) map[string]any {
	merged, managers, err := updater.Apply(s.live, s.typed(config), "v1", s.managers, manager, true)
	require.NoError(s, err)
	if merged == nil { // nothing changed
		merged = s.live
	}
	s.managers = managers
	s.store(members(merged))
	return members(merged)
}

func (s *server) update(manager string, object map[string]any) {
	_, managers, err := updater.Update(s.live, s.typed(object), "v1", s.managers, manager)
	require.NoError(s, err)
	s.managers = managers
	s.store(object)
}

// setDefaults adds fields that nobody owns.
func (s *server) setDefaults(defaults map[string]any) {
	merged, err := s.typed(defaults).Merge(s.live)
	require.NoError(s, err)
	s.store(members(merged))
}

// takeOver makes obstacles the field owner's, as a repair does, so that the next apply removes them.
func (s *server) takeOver(obstacles []obstacle.Obstacle) {
	for name, fields := range s.managers {
		_, rest := managedfields.Split(fields.Set(), func(path fieldpath.Path) bool {
			return slices.ContainsFunc(obstacles, func(o obstacle.Obstacle) bool { return o.Contains(path) })
		})
		s.managers[name] = fieldpath.NewVersionedSet(rest, "v1", fields.Applied())
	}
	own := fieldpath.NewSet()
	if fields, ok := s.managers[owner]; ok {
		own = fields.Set()
	}
	for _, o := range obstacles {
		own.Insert(o.Path)
	}
	s.managers[owner] = fieldpath.NewVersionedSet(own, "v1", true)
}

func (s *server) store(object map[string]any) {
	stored := runtime.DeepCopyJSON(object)
	dropNulls(stored)
	s.live = s.typed(stored)
}

func (s *server) typed(object map[string]any) *typed.TypedValue {
	s.Helper()
	live, err := s.kind.FromUnstructured(object)
	require.NoError(s, err)
	return live
}

func (s *server) object() *unstructured.Unstructured {
	var entries []metav1.ManagedFieldsEntry
	for _, name := range slices.Sorted(maps.Keys(s.managers)) {
		entry := updated(name, "")
		if s.managers[name].Applied() {
			entry = applied(name, "")
		}
		entries = append(entries, managedfields.WithFields(entry, s.managers[name].Set()))
	}
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(members(s.live))}
	object.SetManagedFields(entries)
	return object
}

// fields are those that the object has, whoever owns them.
func (s *server) fields() *fieldpath.Set {
	fields, err := s.live.ToFieldSet()
	require.NoError(s, err)
	return fields
}

func (s *server) owned() *fieldpath.Set {
	owned := fieldpath.NewSet()
	for _, fields := range s.managers {
		owned = owned.Union(fields.Set())
	}
	return owned
}

// members returns the members of an object, of which nothing may be left.
func members(object *typed.TypedValue) map[string]any {
	if members, ok := object.AsValue().Unstructured().(map[string]any); ok {
		return members
	}
	return map[string]any{}
}

func dropNulls(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		maps.DeleteFunc(tree, func(_ string, member any) bool {
			dropNulls(member)
			return member == nil
		})
	case []any:
		for _, item := range tree {
			dropNulls(item)
		}
	}
}

var updater = (&merge.UpdaterBuilder{Converter: sameVersion{}}).BuildUpdater()

// A sameVersion converts to the only version.
type sameVersion struct{}

func (sameVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (sameVersion) IsMissingVersionError(error) bool { return false }
