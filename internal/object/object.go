// Package object checks objects that callers pass before their methods are called, and makes new ones like them.
package object

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// New returns a new object of the Go type of like, or nil if like is no pointer. The object gets the API version and the
// kind only if its Go type does not tell them.
func New(like client.Object, apiVersion, kind string) client.Object {
	t := reflect.TypeOf(like)
	if t.Kind() != reflect.Pointer {
		return nil
	}
	fresh, _ := reflect.TypeAssert[client.Object](reflect.New(t.Elem())) // of like's own type
	switch fresh := fresh.(type) {
	case *unstructured.Unstructured:
		// This is SetGroupVersionKind with a quarter of the allocations.
		fresh.Object = map[string]any{"apiVersion": apiVersion, "kind": kind}
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		fresh.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	}
	return fresh
}

// IsPatchMisrecorded reports whether a patch of obj needs consistency.Off: controller-runtime 0.25
// records a patch of an unstructured object as a write of the typed object, so reads of the unstructured object would not
// wait for the write.
func IsPatchMisrecorded(obj client.Object) bool {
	_, ok := obj.(runtime.Unstructured)
	return ok
}
