package repair_test

import (
	"strings"
	"testing"

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
          coupled:
            type: object
            x-kubernetes-validations:
            - {rule: "(self.mode == 'full') == (self.items.size() > 0)", message: full has items}
            - {rule: "self.mode != 'strict' || !has(self.debug)", message: strict goes without debug}
            required: [items]
            properties: {mode: {type: string}, debug: {type: boolean}, items: *items}
          struct:
            type: object
            required: [inner]
            properties:
              inner: {type: object, required: [items], properties: {items: *items, note: {type: string}}}
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
// item, or be refused, or the default would come back.
func TestEmptiedLists(t *testing.T) {
	t.Parallel()
	defineBags(t)
	empty := []any{}
	for name, tc := range map[string]struct {
		first, then string
		writes      []write
		want        map[string]any
	}{
		"a required list": {
			first: `required: {items: [{name: a}], set: [x]}`, then: `required: {items: [], set: [x]}`,
			want: map[string]any{"required.items": empty, "required.set": []any{"x"}},
		},
		"a required set": {
			first: `required: {items: [{name: a}], set: [x, z]}`, then: `required: {items: [{name: a}], set: []}`,
			want: map[string]any{"required.set": empty},
		},
		"both": {
			first: `required: {items: [{name: a}, {name: b}], set: [x]}`, then: `required: {items: [], set: []}`,
			want: map[string]any{"required.items": empty, "required.set": empty},
		},
		"an optional list that is all there is": {
			first: `optional: {items: [{name: a}]}`, then: `optional: {items: []}`,
			want: map[string]any{"optional.items": empty},
		},
		"an optional set": {
			first: `optional: {set: [x], items: [{name: a}]}`, then: `optional: {set: [], items: [{name: a}]}`,
			want: map[string]any{"optional.set": empty},
		},
		"a list with a default": {
			first: `defaulted: {items: [{name: a}], set: [x]}`, then: `defaulted: {items: [], set: [x]}`,
			want: map[string]any{"defaulted.items": empty, "defaulted.set": []any{"x"}},
		},
		"a set with a default": {
			first: `defaulted: {items: [{name: a}], set: [x]}`, then: `defaulted: {items: [{name: a}], set: []}`,
			want: map[string]any{"defaulted.set": empty},
		},
		"lists in an item": {
			first: `nested: [{name: one, items: [{name: a}], set: [x]}, {name: two, items: [{name: b}]}]`,
			then:  `nested: [{name: two, items: []}, {name: one, items: [], set: []}]`,
			want: map[string]any{
				"nested[name=one].items": empty, "nested[name=one].set": empty, "nested[name=two].items": empty,
			},
		},
		"somebody set a field in the item": {
			first: `required: {items: [{name: a}], set: [x]}`, then: `required: {items: [], set: []}`,
			writes: []write{{by: editor, yaml: `required: {items: [{name: a, note: theirs}]}`}},
			want:   map[string]any{"required.items": empty, "required.set": empty},
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
		"a list that stays with another field": {
			first: `coupled: {mode: full, items: [{name: a}]}`, then: `coupled: {mode: empty, items: []}`,
			want: map[string]any{"coupled.items": empty, "coupled.mode": "empty"},
		},
		"a list in a required struct, of which desired drops the rest": {
			first: `struct: {inner: {items: [{name: a}], note: x}}`, then: `struct: {inner: {items: []}}`,
			want: map[string]any{"struct.inner.items": empty, "struct.inner.note": nil},
		},
		"an empty list in a required struct, of which desired drops the rest": {
			first: `struct: {inner: {items: [], note: x}}`, then: `struct: {inner: {items: []}}`,
			want: map[string]any{"struct.inner.items": empty, "struct.inner.note": nil},
		},
		"a list in an item whose key has a default": {
			first: `ports: [{port: 80, rules: [{name: a}]}]`, then: `ports: [{port: 80, rules: []}]`,
			want: map[string]any{"ports[port=80].rules": empty, "ports[port=80].protocol": "TCP"},
		},
		"beside a field of somebody that conflicts": {
			first: `coupled: {mode: full, items: [{name: a}]}`, then: `coupled: {mode: strict, items: []}`,
			writes: []write{{by: editor, yaml: `coupled: {debug: true}`}},
			want:   map[string]any{"coupled.items": empty, "coupled.mode": "strict", "coupled.debug": nil},
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

// TestEmptiedListThatMayNotBeEmpty: the error says so, and the object stays.
func TestEmptiedListThatMayNotBeEmpty(t *testing.T) {
	t.Parallel()
	defineBags(t)
	f := newFixture(t, false, nil)
	f.mustEnsure(bag(`filled: {items: [{name: a}]}`))
	before, desired := f.live(bag("")), bag(`filled: {items: []}`)
	for _, opts := range [][]ensure.Option{
		{ensure.DryRun()}, {ensure.Recreate(metav1.DeletePropagationBackground)}, {ensure.Recreate(metav1.DeletePropagationOrphan)},
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

// TestCrashedEmptying: a process ends between the patch that writes the merge, and the apply. The next one applies, so
// that a field that desired drops later goes.
func TestCrashedEmptying(t *testing.T) {
	t.Parallel()
	defineBags(t)
	f := newFixture(t, false, nil)
	f.mustEnsure(bag(`required: {items: [{name: a}], set: [x]}`))
	then, later := bag(`required: {items: [], set: [x]}, optional: {set: [x]}`), bag(`required: {items: [], set: [x]}`)
	f.write(then, write{by: editor, yaml: `coupled: {mode: none, items: []}`})
	broken := &crashingClient{Client: f.client}
	_, err := ensure.Object(t.Context(), ensure.New(broken, broken, fieldOwner), f.parse(then))
	require.ErrorIs(t, err, errCrashed)
	require.Equal(t, []any{}, at(f.live(then).Object, "required.items"))
	f.restart(false)
	f.mustEnsure(then)
	require.Equal(t, ensure.Updated, f.mustEnsure(later).Operation)
	live := f.live(then)
	require.Nil(t, at(live.Object, "optional"))
	requireAt(t, live, "coupled.mode=none")
	require.NotContains(t, specified(live)["owners"], fieldOwner+" Update")
}
