package obstacle_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// FuzzMerge: whatever the objects, the managed fields and the refusals are, no method panics, in any order of calls.
// Live does not change, patches fit it, and nothing may go that another program applies.
func FuzzMerge(f *testing.F) {
	random := rand.NewChaCha8([32]byte{})
	for _, fields := range []string{
		`null`, `7`, `{}`, `{"x":{}}`, `{"f:spec":7}`, `{".":{}}`, `{"f:spec":{}}`,
		`{"v:1":{},"i:0":{},"k:{\"port\":1}":{},"f:":{"f:":{}}}`,
		`{"f:spec":{"f:a":{"i:-1":{},"i:3":{"f:port":{}}},"f:b":{"i:0":{".":{}}},"f:c":{"v:null":{},"v:[1]":{"f:port":{}}}}}`,
		`{"f:spec":{"f:a":{"k:{}":{".":{}}},"f:b":{"k:{\"port\":null}":{".":{}}},"f:c":{"k:{\"port\":[]}":{".":{},"f:port":{}}}}}`,
		`{"f:spec":{"f:a":{"k:{\"port\":1}":{"f:a":{}},"k:{\"port\":1,\"protocol\":0}":{".":{}},"v:2":{},"f:port":{}}}}`,
	} {
		for range 8 {
			data := make([]byte, 600)
			_, _ = random.Read(data)
			f.Add(data, fields, "spec.a[0].b spec.A[port=1].port spec.b[01] spec.c[9] .[]..[[]] [ metadata.name spec")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, fields, refused string) {
		if !json.Valid([]byte(fields)) {
			t.Skip("no object has such managed fields")
		}
		c := choices(data)
		in := &input{T: t, chooser: &c, kind: someKind(&c), fields: fields, refused: strings.Fields(refused)}
		merges := []fuzzedMerge{in.someMerge(), in.someMerge()}
		for range 24 {
			in.call(merges[c.IntN(len(merges))])
		}
		for _, m := range merges {
			require.Empty(t, cmp.Diff(m.before, m.live))
		}
	})
}

// An input is what the fuzzer makes, and the calls share.
type input struct {
	*testing.T
	chooser

	kind    typed.ParseableType
	object  map[string]any // the latest one
	fields  string         // the text that some entries have
	refused []string
	found   []obstacle.Obstacle
}

// A fuzzedMerge merges into live, of which before is a copy.
type fuzzedMerge struct {
	*obstacle.Merge

	live, before *unstructured.Unstructured
}

func (in *input) someMerge() fuzzedMerge {
	live, desired := in.someObject(), in.someObject()
	live.SetManagedFields(in.someEntries())
	return fuzzedMerge{obstacle.Of(live, desired, owner, in.someFields()), live, live.DeepCopy()}
}

// call calls a method, mostly with results of others.
func (in *input) call(m fuzzedMerge) {
	calls := []func(){
		func() { in.note(m.Fixed()) },
		func() { in.note(m.Dropped()) },
		func() { in.note(m.Within(in.found, in.refused)) },
		func() { in.find(m, m.Obstacles(nil)) },
		func() { in.find(m, m.Obstacles(in.refused)) },
		func() {
			for _, o := range in.found {
				in.find(m, m.Inside(o))
			}
		},
		func() {
			again, _ := m.Again(someOf(in, in.found))
			in.find(m, again)
		},
		func() { patched(in.T, m.live.Object, m.Trial(someOf(in, in.found))) },
		func() { patched(in.T, m.live.Object, m.TrialWithDropped(someOf(in, in.found))) },
		func() { m.CompleteKeys() },
		func() {
			for _, o := range in.found {
				m.IsBesideDropped(o)
				m.Protect(managedfields.Steps(o.Path))
			}
		},
		func() {
			for _, name := range in.refused {
				m.Protect(paths.Steps(name))
			}
		},
		func() { m.HasOwners() },
		func() { m.HasEmptyLists() },
		func() { m.KeepingTaken() },
	}
	calls[in.IntN(len(calls))]()
}

func (in *input) note(found []obstacle.Obstacle) { in.found = append(in.found, found...) }

// find notes obstacles that may go. They are in live, and no other program applies anything inside.
func (in *input) find(m fuzzedMerge, found []obstacle.Obstacle) {
	entries := m.live.GetManagedFields()
	for _, o := range found {
		require.Empty(in, cmp.Diff(o.Value, valueAt(in.T, m.live.Object, o.Pointer)))
		for i := range entries {
			if entries[i].Operation != metav1.ManagedFieldsOperationApply || entries[i].Manager == owner {
				continue
			}
			managedfields.Fields(&entries[i]).Iterate(func(path fieldpath.Path) { require.False(in, o.Contains(path), "%v", path) })
		}
	}
	in.note(found)
}

func (in *input) someObject() *unstructured.Unstructured {
	in.object = someObject(in, in.kind, in.object)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": []string{"v1", "example.com/v1"}[in.IntN(2)], "kind": "Thing", "spec": damaged(in, in.object["spec"]),
	}}
}

// damaged returns a copy of a value in which some values have another type or are empty, members are missing, and
// items are there twice.
func damaged(c chooser, value any) any {
	switch c.IntN(32) {
	case 1:
		return nil
	case 2:
		return "x"
	case 3:
		return []any{}
	case 4:
		return map[string]any{}
	}
	switch value := value.(type) {
	case map[string]any:
		members := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !isOneIn(16, c) {
				members[name] = damaged(c, value[name])
			}
		}
		return members
	case []any:
		items := []any{}
		for _, item := range value {
			for range 1 + c.IntN(16)/15 {
				items = append(items, damaged(c, item))
			}
		}
		return items
	}
	return value
}

func (in *input) someEntries() []metav1.ManagedFieldsEntry {
	var entries []metav1.ManagedFieldsEntry
	for range in.IntN(6) {
		entry := []metav1.ManagedFieldsEntry{
			applied(owner, in.fields), updated(owner, in.fields), through("status", applied(owner, in.fields)), applied("flux", in.fields),
			updated("kubectl-edit", in.fields), later(updated("kubectl-patch", in.fields)), through("scale", updated("autoscaler", in.fields)),
		}[in.IntN(7)]
		switch in.IntN(6) {
		case 0:
			entry.FieldsV1 = nil
		case 1:
		default:
			entry = managedfields.WithFields(entry, in.someFields())
		}
		entries = append(entries, entry)
	}
	return entries
}

// someFields returns most of the fields of an object, as an apply of it owns them.
func (in *input) someFields() *fieldpath.Set {
	in.object = someObject(in, in.kind, in.object)
	object, err := in.kind.FromUnstructured(in.object)
	require.NoError(in, err)
	all, err := object.ToFieldSet()
	require.NoError(in, err)
	fields := fieldpath.NewSet()
	all.Iterate(func(path fieldpath.Path) {
		if !isOneIn(4, in) {
			fields.Insert(path.Copy())
		}
	})
	return fields
}

// patched returns a patched copy of an object. All members that operations replace or remove are there.
func patched(t *testing.T, object map[string]any, operations []jsonpatch.Operation) map[string]any {
	t.Helper()
	out := runtime.DeepCopyJSON(object)
	for _, operation := range operations {
		at := strings.LastIndex(operation.Path, "/")
		parent, isMap := valueAt(t, out, operation.Path[:at]).(map[string]any)
		require.True(t, isMap, operation.Path)
		if operation.Op != "add" {
			valueAt(t, out, operation.Path)
		}
		if name := unescape(operation.Path[at+1:]); operation.Op == "remove" {
			delete(parent, name)
		} else {
			parent[name] = operation.Value
		}
	}
	return out
}

// valueAt returns the value that a JSON pointer leads to.
func valueAt(t *testing.T, tree any, pointer string) any {
	t.Helper()
	for _, step := range strings.Split(pointer, "/")[1:] {
		switch parent := tree.(type) {
		case map[string]any:
			require.Contains(t, parent, unescape(step), pointer)
			tree = parent[unescape(step)]
		case []any:
			i, err := strconv.Atoi(step)
			require.NoError(t, err, pointer)
			require.Less(t, i, len(parent), pointer)
			tree = parent[i]
		default:
			require.Failf(t, "no member", "%s in %v", pointer, tree)
		}
	}
	return tree
}

func unescape(step string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(step) }
