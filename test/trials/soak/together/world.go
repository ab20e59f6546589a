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

// A world is all there is, at about one moment.
type world struct {
	objects map[ref]*unstructured.Unstructured
	byUID   map[types.UID]*unstructured.Unstructured
	rows    map[string][]row
}

// look reads the objects of the namespaces and the rows of the database.
func (s *stage) look(ctx context.Context) (*world, error) {
	w := &world{objects: map[ref]*unstructured.Unstructured{}, byUID: map[types.UID]*unstructured.Unstructured{}}
	for _, gvk := range builtIn {
		if err := s.list(ctx, w, gvk); err != nil {
			return nil, err
		}
	}
	for _, k := range s.kinds {
		gvk, err := apiutil.GVKForObject(k.newOwner(), s.admin.Scheme())
		if err != nil {
			return nil, err
		}
		if err := s.list(ctx, w, gvk); err != nil {
			return nil, err
		}
	}
	var err error
	w.rows, err = readRows(ctx, s.database)
	return w, err
}

func (s *stage) list(ctx context.Context, w *world, gvk schema.GroupVersionKind) error {
	for _, namespace := range s.namespaces {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := s.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("cannot list every %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			obj := &list.Items[i]
			w.objects[refOf(obj.Object, namespace)] = obj
			w.byUID[obj.GetUID()] = obj
		}
	}
	return nil
}
