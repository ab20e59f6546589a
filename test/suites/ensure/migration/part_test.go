package migration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const racks = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.metering.example.com}
spec:
  group: metering.example.com
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
              size: {type: integer}
              ports: {type: array, x-kubernetes-list-type: set, items: {type: integer}}
              slots:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, value: {type: string}}}
`

// TestReleaseOfWhatCannotBeNamed: a field that can only be released with other fields, or only by
// an index, is refused and stays.
func TestReleaseOfWhatCannotBeNamed(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "metering.example.com", Version: "v1", Kind: "Rack"}
	program.Define(t, shared, racks, kind)
	rack := func(spec map[string]any) client.Object {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		u.SetGroupVersionKind(kind)
		return u
	}
	full := rack(map[string]any{
		"size": int64(1), "ports": []any{int64(80), int64(443)},
		"slots": []any{map[string]any{"name": "a", "value": "x"}, map[string]any{"name": "b", "value": "y"}},
	})
	web, bare := idle(""), idle("")
	web.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP", Name: "http"}}
	bare.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}}
	service := func(selector map[string]string) client.Object {
		return &corev1.Service{Spec: corev1.ServiceSpec{
			Selector: selector, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}},
		}}
	}
	cases := map[string]struct {
		before, after client.Object
		path          string
	}{
		"half a key": {
			asJSON(t, web), asJSON(t, bare),
			"spec.template.spec.containers[name=web].ports[containerPort=80].name",
		},
		"in a map that is written whole": {
			service(map[string]string{"app": "web", "tier": "front"}), service(map[string]string{"app": "web"}), "spec.selector[tier]",
		},
		"a number of a set":        {full, rack(map[string]any{"size": int64(1)}), "spec.ports[443]"},
		"an index in a keyed list": {full, rack(map[string]any{"size": int64(1)}), "spec.slots[0]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace, c := shared.Namespace(t), program.Client(t, shared, releaser)
			e := ensure.New(c, c, releaser)
			in := func(obj client.Object) client.Object {
				obj, _ = obj.DeepCopyObject().(client.Object)
				obj.SetNamespace(namespace)
				obj.SetName("web")
				return obj
			}
			was := mustEnsure(t, e, in(tc.before)).Live
			for _, e := range []*ensure.Ensurer{e, ensure.New(c, c, releaser)} {
				_, err := ensure.Object(t.Context(), e, in(tc.after), ensure.Release(tc.path))
				require.ErrorIs(t, err, ensure.ErrRefused)
				require.ErrorContains(t, err, "ensure.Release")
			}
			require.Equal(t, was.GetGeneration(), liveOf(t, c, was).GetGeneration())
			ensureBesideControllers(t, e, in(tc.before))
			require.Equal(t, was.GetGeneration(), liveOf(t, c, was).GetGeneration())
		})
	}
}
