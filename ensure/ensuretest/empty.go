package ensuretest

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// forgetEmpty removes the empty lists and maps that a server does not store for built-in kinds. Objects
// of custom kinds are stored unchanged.
func forgetEmpty(gvk schema.GroupVersionKind, obj runtime.Object) {
	if builtIn().Recognizes(gvk) {
		forgetEmptyIn(reflect.ValueOf(obj))
	}
}

func forgetEmptyIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			forgetEmptyIn(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				forgetEmptyIn(field)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 && v.CanSet() {
			v.SetZero()
		}
		for i := range v.Len() {
			forgetEmptyIn(v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 && v.CanSet() {
			v.SetZero()
		}
	}
}

// sameInMemory reports whether two objects are the same outside their metadata, empty lists
// included.
func sameInMemory(a, b runtime.Object) bool {
	content := [2]runtime.Object{a.DeepCopyObject(), b.DeepCopyObject()}
	for _, obj := range content {
		for _, metadata := range []string{"TypeMeta", "ObjectMeta"} {
			if field := reflect.ValueOf(obj).Elem().FieldByName(metadata); field.IsValid() {
				field.SetZero()
			}
		}
	}
	return reflect.DeepEqual(content[0], content[1])
}
