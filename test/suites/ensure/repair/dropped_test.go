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

// proxied is a Deployment with a second container, and unproxied is the same without that container.
const (
	proxied = `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, selector: {matchLabels: {a: one}},
		template: {metadata: {labels: {a: one, b: two}}, spec: {containers: [{name: web, image: "x:1"}, {name: proxy, image: "y:1"}]}}}}`
	unproxied = `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, selector: {matchLabels: {a: one}},
		template: {metadata: {labels: {a: one, b: two}}, spec: {containers: [{name: web, image: "x:1"}]}}}}`
)

// insideProxy are fields that others set in the container that desired drops.
var insideProxy = map[string][]write{
	"nothing":               nil,
	"resources":             {{by: editor, yaml: `spec: {template: {spec: {containers: [{name: proxy, resources: {limits: {cpu: 1}}}]}}}`}},
	"an applied variable":   {{by: "flux", apply: true, yaml: inProxy("env: [{name: A, value: b}]")}},
	"a port and a variable": {{by: editor, yaml: `spec: {template: {spec: {containers: [{name: proxy, ports: [{containerPort: 1}], env: [{name: A, value: b}]}]}}}`}},
	"resources, and an emptied owner": {
		{by: editor, yaml: `spec: {template: {spec: {containers: [{name: proxy, resources: {limits: {cpu: 1}}}]}}}`},
		{by: editor, yaml: `metadata: {managedFields: [{}]}`},
	},
}

func inProxy(fields string) string {
	return "metadata: {name: NAME, namespace: NAMESPACE}\nspec: {template: {spec: {containers: [{name: proxy, " + fields + "}]}}}"
}

// TestRefusedWithADroppedItem: the API server refuses the apply that drops a container. Fields of others in the
// container do not keep the container, and are no obstacle.
func TestRefusedWithADroppedItem(t *testing.T) {
	t.Parallel()
	immutable := strings.Replace(unproxied, "{matchLabels: {a: one}}", "{matchLabels: {b: two}}", 1)
	for inside, writes := range insideProxy {
		inBothForms(t, inside, func(t *testing.T, typed bool) {
			t.Helper()
			f := newFixture(t, typed, nil)
			f.mustEnsure(proxied)
			for _, w := range writes {
				f.write(proxied, w)
			}
			before := f.live(proxied)
			for _, opts := range [][]ensure.Option{
				{ensure.DryRun()}, {ensure.MigrateFrom("old"), ensure.DryRun()}, {ensure.MigrateFrom("old")}, nil,
			} {
				_, err := f.ensure(immutable, opts...)
				require.ErrorIs(t, err, ensure.ErrImmutable, "%s", explain(err))
				require.Equal(t, specified(before), specified(f.live(proxied)))
			}
			res, err := f.ensure(immutable, ensure.Recreate(metav1.DeletePropagationBackground))
			require.NoError(t, err, "%s", explain(err))
			require.Equal(t, ensure.Recreated, res.Operation)
		})
	}
}

// TestDroppedItem: nothing is refused, and the container goes with what others set inside, also when an older
// version of the operator is migrated.
func TestDroppedItem(t *testing.T) {
	t.Parallel()
	for inside, writes := range insideProxy {
		if strings.Contains(inside, "emptied") || strings.Contains(inside, "applied") {
			continue // nobody knows that the container was ours; the container is another program's, too
		}
		inBothForms(t, inside, func(t *testing.T, typed bool) {
			t.Helper()
			f := newFixture(t, typed, nil)
			f.mustEnsure(proxied)
			for _, w := range append(writes, write{by: "old", yaml: `spec: {minReadySeconds: 1}`}) {
				f.write(proxied, w)
			}
			migrate := []ensure.Option{ensure.MigrateFrom("old")}
			_, err := f.ensure(unproxied, append(migrate, ensure.DryRun())...)
			require.NoError(t, err, "%s", explain(err))
			_, err = f.ensure(unproxied, migrate...)
			require.NoError(t, err, "%s", explain(err))
			require.Nil(t, at(f.live(proxied).Object, "spec.template.spec.containers[name=proxy]"))
		})
	}
}

// racks is a custom kind with a list of each type, and a field that never changes.
const racks = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.repair.example.com}
spec:
  group: repair.example.com
  scope: Namespaced
  names: {plural: racks, singular: rack, kind: Rack, listKind: RackList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              fixed:
                type: string
                x-kubernetes-validations: [{rule: self == oldSelf, message: never changes}]
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}, note: {type: string, default: none}}}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              plain: {type: array, items: {type: string}}
`

func rack(spec string) string {
	return "{apiVersion: repair.example.com/v1, kind: Rack, spec: {" + spec + "}}"
}

// TestRefusedWithADroppedItemOfACustomKind: likewise for each type of list, dropped or emptied.
func TestRefusedWithADroppedItemOfACustomKind(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, racks, schema.GroupVersionKind{Group: "repair.example.com", Version: "v1", Kind: "Rack"})
	const first = `fixed: a, items: [{name: one}, {name: two, size: 2}], set: [k, l], plain: [p]`
	inside := write{by: editor, yaml: `spec: {items: [{name: one, size: 1, note: theirs}, {name: two, size: 2, note: none}, {name: theirs, note: none}]}`}
	for name, then := range map[string]string{
		"an item of each":  `fixed: b, items: [{name: two, size: 2}], set: [k], plain: []`,
		"emptied lists":    `fixed: b, items: [], set: [], plain: []`,
		"dropped lists":    `fixed: b`,
		"a renamed item":   `fixed: b, items: [{name: uno}, {name: two, size: 2}], set: [m, l], plain: [q]`,
		"another order":    `fixed: b, items: [{name: two, size: 2}, {name: one}], set: [l, k], plain: [p]`,
		"with their item":  `fixed: b, items: [{name: theirs}], set: [k, l], plain: [p]`,
		"nothing but that": `fixed: b, items: [{name: one}, {name: two, size: 2}], set: [k, l], plain: [p]`,
	} {
		for _, writes := range [][]write{nil, {inside}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, false, nil)
				f.mustEnsure(rack(first))
				for _, w := range writes {
					f.write(rack(first), w)
				}
				before := f.live(rack(first))
				for _, opts := range [][]ensure.Option{{ensure.DryRun()}, {ensure.MigrateFrom("old")}, nil} {
					_, err := f.ensure(rack(then), opts...)
					require.ErrorIs(t, err, ensure.ErrImmutable, "%s", explain(err))
					require.Equal(t, at(before.Object, "spec.fixed"), at(f.live(rack(first)).Object, "spec.fixed"))
				}
				res, err := f.ensure(rack(then), ensure.Recreate(metav1.DeletePropagationBackground))
				require.NoError(t, err, "%s", explain(err))
				require.Equal(t, ensure.Recreated, res.Operation)
			})
		}
	}
}
