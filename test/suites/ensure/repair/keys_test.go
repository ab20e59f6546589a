package repair_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// routers is a custom kind with lists whose keys have members with defaults.
const routers = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: routers.repair.example.com}
spec:
  group: repair.example.com
  scope: Namespaced
  names: {plural: routers, singular: router, kind: Router, listKind: RouterList}
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
            x-kubernetes-validations:
            - {rule: "self.mode != 'strict' || !has(self.debug)", message: strict goes without debug}
            - {rule: "self.mode != 'local' || !has(self.zones) || self.zones.all(z, z.zone != 'there')", message: local goes with nothing there}
            - {rule: "!has(self.zones) || self.zones.filter(z, has(z.primary) && z.primary).size() <= 1", message: one primary}
            - {rule: "!has(self.dns) || self.dns.filter(d, has(d.primary) && d.primary).size() <= 1", message: one primary}
            properties:
              mode: {type: string, maxLength: 20, default: open}
              debug: {type: object, properties: {by: {type: string}}}
              zones:
                type: array
                maxItems: 10
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, zone, kind]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    zone: {type: string, default: here, maxLength: 20}
                    kind: {type: string, default: plain}
                    primary: {type: boolean}
                    note: {type: string}
              dns:
                type: array
                maxItems: 10
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items:
                  type: object
                  required: [port]
                  properties: {port: {type: integer}, protocol: {type: string, default: UDP}, primary: {type: boolean}, note: {type: string}}
`

func router(spec string) string {
	return "{apiVersion: repair.example.com/v1, kind: Router, spec: {" + spec + "}}"
}

func defineRouters(t *testing.T) {
	t.Helper()
	program.Define(t, shared, routers, schema.GroupVersionKind{Group: "repair.example.com", Version: "v1", Kind: "Router"})
}

// defaulted are cases in which desired leaves out members of keys that the API server fills in.
func defaulted() map[string]repairCase {
	debug := write{by: editor, yaml: `spec: {debug: {by: me}}`}
	return map[string]repairCase{
		"somebody applies an item in another zone": {
			first: router(`mode: open, zones: [{name: a, primary: true}]`),
			others: []write{debug, {
				by: "flux", apply: true, yaml: "metadata: {name: NAME, namespace: NAMESPACE}\nspec: {zones: [{name: a, zone: there, note: theirs}]}",
			}},
			then:  router(`mode: strict, zones: [{name: a, primary: true}]`),
			keeps: []string{"spec.zones[zone=there].note=theirs", "spec.zones[zone=here].primary=true"},
			gains: []string{"spec.mode=strict"},
			loses: []string{"spec.debug"},
			from:  []string{editor},
		},
		"somebody's item in another zone is in the way": {
			first: router(`mode: open, zones: [{name: a, note: ours}]`),
			others: []write{debug, {
				by: other, yaml: `spec: {zones: [{name: a, note: ours}, {name: a, zone: there, kind: fancy, note: theirs}, {name: a, kind: fancy, note: theirs}]}`,
			}},
			then:  router(`mode: local, zones: [{name: a, note: ours}]`),
			keeps: []string{"spec.debug.by=me", "spec.zones[kind=plain].note=ours", "spec.zones[kind=fancy].note=theirs"},
			gains: []string{"spec.mode=local", "spec.zones[kind=fancy].zone=here"},
			loses: []string{"spec.zones[zone=there]"},
			from:  []string{other},
		},
		"another protocol by default": {
			first: router(`mode: open, dns: [{port: 53, note: ours}]`),
			others: []write{debug, {
				by: other, yaml: `spec: {dns: [{port: 53, note: ours}, {port: 53, protocol: TCP, primary: true, note: theirs}]}`,
			}},
			then:  router(`mode: open, dns: [{port: 53, note: ours, primary: true}]`),
			keeps: []string{"spec.debug.by=me", "spec.dns[protocol=UDP].note=ours"},
			gains: []string{"spec.dns[protocol=UDP].primary=true"},
			loses: []string{"spec.dns[protocol=TCP]"},
			from:  []string{other},
		},
		"one of two items has the whole key": {
			first: router(`mode: open, zones: [{name: a}, {name: a, zone: there}]`),
			others: []write{debug, {
				by: other, yaml: `spec: {zones: [{name: a}, {name: a, zone: there}, {name: a, zone: elsewhere, primary: true}]}`,
			}},
			then:  router(`mode: open, zones: [{name: a, primary: true}, {name: a, zone: there, note: ours}]`),
			keeps: []string{"spec.debug.by=me"},
			gains: []string{"spec.zones[zone=here].primary=true", "spec.zones[zone=there].note=ours"},
			loses: []string{"spec.zones[zone=elsewhere]"},
			from:  []string{other},
		},
	}
}

func TestRepairOfItemsWithDefaultedKeys(t *testing.T) {
	t.Parallel()
	defineRouters(t)
	for name, tc := range defaulted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newFixture(t, false, nil).run(tc)
		})
	}
}

// A restrictedClient may write one object only, as a role with resourceNames permits.
type restrictedClient struct {
	client.Client
	name string
}

func (c *restrictedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if obj.GetName() != c.name {
		return apierrors.NewForbidden(schema.GroupResource{Group: "repair.example.com", Resource: "routers"}, obj.GetName(), nil)
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

// TestUnknownKeys: while it is unknown which items desired names, nothing is removed or deleted.
func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	defineRouters(t)
	for name, tc := range defaulted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := &restrictedClient{}
			f := newFixture(t, false, func(c client.Client) client.Client { limits.Client = c; return limits })
			limits.name = f.key.Name
			f.mustEnsure(tc.first)
			for _, w := range tc.others {
				f.write(tc.first, w)
			}
			before := f.live(tc.first)
			_, err := f.ensureAllowingRecreation(tc.then)
			require.ErrorIs(t, err, ensure.ErrInvalid, "%s", explain(err))
			require.Equal(t, specified(before), specified(f.live(tc.first)))
		})
	}
}

// TestDefaultedKeysAfterARestart: a new process finds the items that the last one applied, and writes
// nothing.
func TestDefaultedKeysAfterARestart(t *testing.T) {
	t.Parallel()
	defineRouters(t)
	desired := router(`mode: open, zones: [{name: a}, {name: a, zone: there}, {name: b, kind: fancy}], dns: [{port: 53}, {port: 53, protocol: TCP}]`)
	f := newFixture(t, false, nil)
	f.mustEnsure(desired)
	before := f.live(desired)
	f.ensurer = ensure.New(f.client, f.client, fieldOwner)
	require.Equal(t, ensure.Unchanged, f.mustEnsure(desired).Operation)
	require.Equal(t, before.GetResourceVersion(), f.live(desired).GetResourceVersion())
}
