package status

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
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

// assign overwrites the object that obj points to with the object that from points to.
func assign(obj, from client.Object) {
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(from).Elem())
}
