package content_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

var thingKind = schema.GroupVersionKind{Group: "content.example.com", Version: "v1", Kind: "Thing"}

// things is a custom kind with a place for anything, and with fields that take null or do not.
const things = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.content.example.com}
spec:
  group: content.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
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
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              mode: {type: string, nullable: true, default: auto}
              kind: {type: string, default: plain}
              size: {type: integer}
              limits: {type: object, nullable: true, additionalProperties: {type: string}}
              users: {type: array, nullable: true, items: {type: string}}
              groups:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, port]
                items:
                  type: object
                  required: [name, port]
                  properties:
                    name: {type: string}
                    port: {type: integer}
                    members: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              parts:
                type: array
                items: {type: object, properties: {name: {type: string}, size: {type: integer}, mode: {type: string, nullable: true, default: auto}}}
`

// A fixture is a namespace with an Ensurer.
type fixture struct {
	t         *testing.T
	namespace string
	client    client.Client
	ensurer   *ensure.Ensurer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	namespace := shared.Namespace(t)
	c := program.Client(t, shared, "operator of "+namespace)
	return &fixture{t: t, namespace: namespace, client: c, ensurer: ensure.New(c, c, "content-operator")}
}

// thing is a desired Thing.
func (f *fixture) thing(name string, spec map[string]any) *unstructured.Unstructured {
	thing := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	thing.SetGroupVersionKind(thingKind)
	thing.SetNamespace(f.namespace)
	thing.SetName(name)
	return thing
}

// live returns the live object.
func (f *fixture) live(like client.Object) *unstructured.Unstructured {
	f.t.Helper()
	live := &unstructured.Unstructured{}
	gvk, err := f.client.GroupVersionKindFor(like)
	require.NoError(f.t, err)
	live.SetGroupVersionKind(gvk)
	require.NoError(f.t, f.client.Get(f.t.Context(), client.ObjectKeyFromObject(like), live))
	return live
}

// requests returns the operator's requests since a mark.
func (f *fixture) requests(since cluster.Mark) []cluster.Request {
	f.t.Helper()
	return program.Requests(f.t, shared, since, "operator of "+f.namespace)
}
