package repair_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// bags is a custom kind with lists and sets that are required, have a default, or stand in an item of a list.
const bags = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bags.repair.example.com}
spec:
  group: repair.example.com
  scope: Namespaced
  names: {plural: bags, singular: bag, kind: Bag, listKind: BagList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          required:
            type: object
            required: [items, set]
            properties:
              items: &items
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, note: {type: string}}}
              set: &set {type: array, x-kubernetes-list-type: set, items: {type: string}}
          optional: {type: object, properties: {items: *items, set: *set}}
          defaulted:
            type: object
            properties:
              items:
                type: array
                default: [{name: default}]
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, note: {type: string}}}
              set: {type: array, default: [default], x-kubernetes-list-type: set, items: {type: string}}
          nested:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [name]
            items:
              type: object
              required: [name, items]
              properties: {name: {type: string}, note: {type: string}, items: *items, set: *set}
          ports:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [port, protocol]
            items:
              type: object
              required: [port, rules]
              properties: {port: {type: integer}, protocol: {type: string, default: TCP}, rules: *items}
          filled:
            type: object
            properties:
              items:
                type: array
                minItems: 1
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}}}
`

func defineBags(t *testing.T) {
	t.Helper()
	program.Define(t, shared, bags, schema.GroupVersionKind{Group: "repair.example.com", Version: "v1", Kind: "Bag"})
}

func bag(fields string) string {
	return "{apiVersion: repair.example.com/v1, kind: Bag, " + fields + "}"
}

// TestEmptiedLists: desired empties a list of which we own all items. An apply alone would remove the list with its last
// item.
func TestEmptiedLists(t *testing.T) {
	t.Parallel()
	defineBags(t)
	empty := []any{}
	for name, tc := range map[string]struct {
		first, then string
		writes      []write
		want        map[string]any
	}{
		"an optional list that is all there is": {
			first: `optional: {items: [{name: a}]}`, then: `optional: {items: []}`,
			want: map[string]any{"optional.items": empty},
		},
		"an optional set": {
			first: `optional: {set: [x], items: [{name: a}]}`, then: `optional: {set: [], items: [{name: a}]}`,
			want: map[string]any{"optional.set": empty},
		},
		"a set in an item": {
			first: `nested: [{name: one, items: [{name: a}], set: [x]}]`, then: `nested: [{name: one, items: [{name: a}], set: []}]`,
			want: map[string]any{"nested[name=one].set": empty},
		},
		"somebody set a field in the item": {
			first: `optional: {items: [{name: a}]}`, then: `optional: {items: []}`,
			writes: []write{{by: editor, yaml: `optional: {items: [{name: a, note: theirs}]}`}},
			want:   map[string]any{"optional.items": empty},
		},
		"somebody has an item beside": {
			first: `required: {items: [{name: a}], set: [x]}`, then: `required: {items: [], set: []}`,
			writes: []write{{by: editor, yaml: `required: {items: [{name: a}, {name: theirs}], set: [x, theirs]}`}},
			want:   map[string]any{"required.items": []any{map[string]any{"name": "theirs"}}, "required.set": []any{"theirs"}},
		},
		"somebody applies the item, too": {
			first: `required: {items: [{name: a}], set: [x]}`, then: `required: {items: [], set: []}`,
			writes: []write{{by: "flux", apply: true, yaml: "metadata: {name: NAME, namespace: NAMESPACE}\nrequired: {items: [{name: a}], set: [x]}"}},
			want:   map[string]any{"required.items": []any{map[string]any{"name": "a"}}, "required.set": []any{"x"}},
		},
	} {
		for form, reads := range map[string]string{"": "", ", a cache that strips": "strips", ", after a restart": "restarts"} {
			t.Run(name+form, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, false, nil)
				if reads == "strips" {
					f.restart(true)
				}
				f.mustEnsure(bag(tc.first))
				for _, w := range tc.writes {
					f.write(bag(tc.first), w)
				}
				before := f.live(bag(tc.first))
				if reads == "restarts" {
					f.restart(false)
				}
				_, err := f.ensure(bag(tc.then), ensure.DryRun())
				require.NoError(t, err, "%s", explain(err))
				require.Equal(t, before.Object, f.live(bag(tc.first)).Object, "a dry run")
				res, err := f.ensure(bag(tc.then), ensure.Recreate(metav1.DeletePropagationBackground))
				require.NoError(t, err, "%s", explain(err))
				require.Equal(t, ensure.Updated, res.Operation)
				require.Equal(t, ensure.DesiredChanged, res.Cause)
				after := f.live(bag(tc.then))
				require.Equal(t, before.GetUID(), after.GetUID())
				for place, want := range tc.want {
					require.Equal(t, want, at(after.Object, place), place)
				}
				require.NotContains(t, specified(after)["owners"], fieldOwner+" Update")
				require.Equal(t, ensure.Unchanged, f.mustEnsure(bag(tc.then)).Operation)
				f.restart(reads == "strips")
				require.Equal(t, ensure.Unchanged, f.mustEnsure(bag(tc.then)).Operation)
				f.mustEnsure(bag(tc.first))
				f.mustEnsure(bag(tc.then))
				for place, want := range tc.want {
					require.Equal(t, want, at(f.live(bag(tc.then)).Object, place), place)
				}
			})
		}
	}
}

// TestEmptiedListWithADefault: the default comes back, and the result names the list.
func TestEmptiedListWithADefault(t *testing.T) {
	t.Parallel()
	defineBags(t)
	for name, then := range map[string]string{
		"defaulted.items": `defaulted: {items: [], set: [x]}`, "defaulted.set": `defaulted: {items: [{name: a}], set: []}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, false, nil)
			f.mustEnsure(bag(`defaulted: {items: [{name: a}], set: [x]}`))
			require.Empty(t, cmp.Diff([]ensure.KeptField{{Path: name}}, f.mustEnsure(bag(then)).Kept))
			for range 2 {
				require.Equal(t, ensure.Unchanged, f.mustEnsure(bag(then)).Operation)
				f.restart(false)
			}
		})
	}
}

// TestEmptiedRequiredList: the API server refuses an apply that removes the list. The object stays, and the next pass
// succeeds once somebody has emptied the list.
func TestEmptiedRequiredList(t *testing.T) {
	t.Parallel()
	defineBags(t)
	for name, tc := range map[string]struct{ first, then, emptied string }{
		"items": {
			first: `required: {items: [{name: a}], set: [x]}`, then: `required: {items: [], set: [x]}`, emptied: `required: {items: []}`,
		},
		"set": {
			first: `required: {items: [{name: a}], set: [x, z]}`, then: `required: {items: [{name: a}], set: []}`, emptied: `required: {set: []}`,
		},
		"rules": {
			first: `ports: [{port: 80, rules: [{name: a}]}]`, then: `ports: [{port: 80, rules: []}]`, emptied: `ports: [{port: 80, rules: []}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, false, nil)
			f.mustEnsure(bag(tc.first))
			f.write(bag(tc.first), write{by: other, yaml: `optional: {items: [{name: theirs}]}`})
			before := f.live(bag(tc.first))
			for _, opts := range [][]ensure.Option{{ensure.DryRun()}, nil, {ensure.Recreate(metav1.DeletePropagationBackground)}} {
				_, err := f.ensure(bag(tc.then), opts...)
				require.ErrorIs(t, err, ensure.ErrInvalid, "%s", explain(err))
				require.ErrorContains(t, err, name+": Required value")
				require.Equal(t, before.Object, f.live(bag(tc.first)).Object)
			}
			f.write(bag(tc.first), write{by: editor, yaml: tc.emptied})
			f.mustEnsure(bag(tc.then))
			require.Equal(t, ensure.Unchanged, f.mustEnsure(bag(tc.then)).Operation)
			requireAt(t, f.live(bag(tc.then)), "optional.items[name=theirs].name=theirs")
		})
	}
}

// TestEmptiedListThatMayNotBeEmpty: the error says so, and the object stays.
func TestEmptiedListThatMayNotBeEmpty(t *testing.T) {
	t.Parallel()
	defineBags(t)
	f := newFixture(t, false, nil)
	f.mustEnsure(bag(`filled: {items: [{name: a}]}`))
	before, desired := f.live(bag("")), bag(`filled: {items: []}`)
	for _, opts := range [][]ensure.Option{
		{ensure.Recreate(metav1.DeletePropagationBackground)}, {ensure.Recreate(metav1.DeletePropagationOrphan)}, nil,
	} {
		_, err := f.ensure(desired, opts...)
		require.ErrorIs(t, err, ensure.ErrInvalid, "%s", explain(err))
		require.ErrorContains(t, err, "filled.items")
		require.Equal(t, before.GetUID(), f.live(desired).GetUID())
	}
}

// TestEmptiedListCostsNothingAtRest: a desired empty list that is empty, or holds the item of somebody else, is no
// reason to write or to read.
func TestEmptiedListCostsNothingAtRest(t *testing.T) {
	t.Parallel()
	defineBags(t)
	f := newFixture(t, false, nil)
	desired := bag(`required: {items: [], set: []}`)
	f.mustEnsure(desired)
	f.write(desired, write{by: editor, yaml: `required: {items: [{name: theirs}]}`})
	f.mustEnsure(desired) // only the API server can tell
	mark := shared.Mark()
	for range 3 {
		require.Equal(t, ensure.Unchanged, f.mustEnsure(desired).Operation)
	}
	requireOnlyReads(t, mark, f)
}

// TestEmptiedListOfAPodTemplate: the apply alone is right, so that pods roll once, and a refused change leaves all as
// it is.
func TestEmptiedListOfAPodTemplate(t *testing.T) {
	t.Parallel()
	first := strings.Replace(deployment, "web:1}", `web:1, env: [{name: A, value: b}]}`, 1)
	then := strings.Replace(deployment, "web:1}", `web:2, env: []}`, 1)
	f := newFixture(t, false, nil)
	f.mustEnsure(first)
	before := f.live(first)
	_, err := f.ensure(strings.ReplaceAll(then, "{app: web}", "{app: other}"))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Equal(t, specified(before), specified(f.live(first)))
	f.mustEnsure(then)
	require.Equal(t, before.GetGeneration()+1, f.live(first).GetGeneration())
}
