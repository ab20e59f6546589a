package status

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// isNil also knows a nil pointer in an interface.
func isNil(v any) bool {
	value := reflect.ValueOf(v)
	return !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil()
}

// isExact reports whether obj has all that the server has.
func isExact(obj client.Object) bool {
	_, ok := obj.(runtime.Unstructured)
	return ok
}

// copyOf is a deep copy of the same type, which DeepCopyObject promises.
func copyOf(obj client.Object) client.Object {
	return obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a client.Object of the same type
}

// emptyLike is a new object of obj's Go type.
func emptyLike(obj client.Object, kind schema.GroupVersionKind) client.Object {
	empty := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object) //nolint:forcetypeassert // obj's type
	if _, ok := empty.(runtime.Unstructured); ok {
		empty.GetObjectKind().SetGroupVersionKind(kind)
	}
	return empty
}

// assign makes what obj points to the same as what from points to.
func assign(obj, from client.Object) {
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(from).Elem())
}
