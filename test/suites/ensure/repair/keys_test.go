package repair_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// TestLackingKeys: desired leaves out members of keys that the API server fills in. It is unknown which items desired names, so
// nothing is removed or deleted, and the error says what to specify. With whole keys, the next pass succeeds.
func TestLackingKeys(t *testing.T) {
	t.Parallel()
	defineRouters(t)
	debug := write{by: editor, yaml: `spec: {debug: {by: me}}`}
	for name, tc := range map[string]struct {
		first, then, names string
		whole              repairCase
	}{
		"somebody applies an item in another zone": {
			first: router(`mode: open, zones: [{name: a, primary: true}]`),
			then:  router(`mode: strict, zones: [{name: a, primary: true}]`),
			names: "spec.zones",
			whole: repairCase{
				first: router(`mode: open, zones: [{name: a, zone: here, kind: plain, primary: true}]`),
				others: []write{debug, {
					by: "flux", apply: true, yaml: "metadata: {name: NAME, namespace: NAMESPACE}\nspec: {zones: [{name: a, zone: there, note: theirs}]}",
				}},
				then:  router(`mode: strict, zones: [{name: a, zone: here, kind: plain, primary: true}]`),
				keeps: []string{"spec.zones[zone=there].note=theirs", "spec.zones[zone=here].primary=true"},
				gains: []string{"spec.mode=strict"},
				loses: []string{"spec.debug"},
				from:  []string{editor},
			},
		},
		"another protocol by default": {
			first: router(`mode: open, dns: [{port: 53, note: ours}]`),
			then:  router(`mode: open, dns: [{port: 53, note: ours, primary: true}]`),
			names: "spec.dns",
			whole: repairCase{
				first: router(`mode: open, dns: [{port: 53, protocol: UDP, note: ours}]`),
				others: []write{debug, {
					by: other, yaml: `spec: {dns: [{port: 53, note: ours}, {port: 53, protocol: TCP, primary: true, note: theirs}]}`,
				}},
				then:  router(`mode: open, dns: [{port: 53, protocol: UDP, note: ours, primary: true}]`),
				keeps: []string{"spec.debug.by=me", "spec.dns[protocol=UDP].note=ours"},
				gains: []string{"spec.dns[protocol=UDP].primary=true"},
				loses: []string{"spec.dns[protocol=TCP]"},
				from:  []string{other},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, false, nil)
			f.mustEnsure(tc.first)
			for _, w := range tc.whole.others {
				f.write(tc.first, w)
			}
			before := f.live(tc.first)
			for _, opts := range [][]ensure.Option{{ensure.DryRun()}, nil, {ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift)}} {
				_, err := f.ensure(tc.then, opts...)
				require.ErrorIs(t, err, ensure.ErrInvalid, "%s", explain(err))
				require.ErrorContains(t, err, "items in "+tc.names+": specify whole keys")
				require.Equal(t, specified(before), specified(f.live(tc.first)))
			}
			newFixture(t, false, nil).run(tc.whole)
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
