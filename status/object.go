package status

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// isUnstructured reports whether obj is unstructured, so that it has all stored fields.
func isUnstructured(obj client.Object) bool {
	_, ok := obj.(runtime.Unstructured)
	return ok
}

// copyOf returns a deep copy of obj.
func copyOf(obj client.Object) client.Object {
	return obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a client.Object of the same type
}

// emptyLike returns a new object of obj's Go type.
func emptyLike(obj client.Object, kind schema.GroupVersionKind) client.Object {
	empty := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object) //nolint:forcetypeassert // obj's type
	if _, ok := empty.(runtime.Unstructured); ok {
		empty.GetObjectKind().SetGroupVersionKind(kind)
	}
	return empty
}

// assign overwrites the object that obj points to with the object that from points to.
func assign(obj, from client.Object) {
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(from).Elem())
}
