package together

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A ref names an object.
type ref struct{ kind, namespace, name string }

func (r ref) String() string { return fmt.Sprintf("%s %s/%s", r.kind, r.namespace, r.name) }

func refOf(content manifest, namespace string) ref {
	return ref{kind: text(content, "kind"), namespace: namespace, name: text(content, "metadata", "name")}
}

// claimKind is the kind of claims, which may outlive their owners.
const claimKind = "PersistentVolumeClaim"

// builtIn lists the kinds of children, and of the objects that Kubernetes creates for them.
var builtIn = map[string]schema.GroupVersionKind{
	"Secret":      {Version: "v1", Kind: "Secret"},
	"Service":     {Version: "v1", Kind: "Service"},
	"Pod":         {Version: "v1", Kind: "Pod"},
	"Deployment":  {Group: "apps", Version: "v1", Kind: "Deployment"},
	"ReplicaSet":  {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	"StatefulSet": {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	claimKind:     {Version: "v1", Kind: claimKind},
}

// object returns an empty object of this kind and name.
func (r ref) object() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(builtIn[r.kind])
	obj.SetNamespace(r.namespace)
	obj.SetName(r.name)
	return obj
}

// A clusterState holds all objects and rows, at about one moment.
type clusterState struct {
	objects map[ref]*unstructured.Unstructured
	byUID   map[types.UID]*unstructured.Unstructured
	rows    map[string][]row
}

// look reads the objects of the namespaces and the rows of the database.
func (e *environment) look(ctx context.Context) (*clusterState, error) {
	s := &clusterState{objects: map[ref]*unstructured.Unstructured{}, byUID: map[types.UID]*unstructured.Unstructured{}}
	for _, gvk := range builtIn {
		if err := e.list(ctx, s, gvk); err != nil {
			return nil, err
		}
	}
	for _, k := range e.kinds {
		gvk, err := apiutil.GVKForObject(k.newOwner(), e.admin.Scheme())
		if err != nil {
			return nil, err
		}
		if err := e.list(ctx, s, gvk); err != nil {
			return nil, err
		}
	}
	var err error
	s.rows, err = readRows(ctx, e.database)
	return s, err
}

func (e *environment) list(ctx context.Context, s *clusterState, gvk schema.GroupVersionKind) error {
	for _, namespace := range e.namespaces {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := e.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("cannot list every %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			obj := &list.Items[i]
			s.objects[refOf(obj.Object, namespace)] = obj
			s.byUID[obj.GetUID()] = obj
		}
	}
	return nil
}
