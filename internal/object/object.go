// Package object checks values that callers pass before their methods are called.
package object

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsNil reports whether v is nil, or a nil pointer, map, slice or function in an interface.
func IsNil(v any) bool {
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func:
		return value.IsNil()
	}
	return false
}

// IsUnusable reports whether obj is nil, or its methods panic: so they do if a struct embeds a pointer to its metadata, and
// the pointer is nil.
func IsUnusable(obj metav1.Object) (panics bool) {
	if IsNil(obj) {
		return true
	}
	defer func() { panics = recover() != nil }()
	obj.GetName()
	return false
}
