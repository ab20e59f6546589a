// Package object checks objects that callers pass before their methods are called, and makes new ones like them.
package object

import (
	"fmt"
	"math"
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

// Content returns obj as unstructured data, with whole numbers of type int64 alone. The data of an unstructured obj may belong
// to obj.
func Content(obj runtime.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err == nil {
		_, err = signed(content)
	}
	return content, err
}

// signed returns value with numbers of type int64 in place of uint64, which no other code expects. It can go when k8s.io v0.37 is
// the lowest version that is supported: there, the conversion of a Go type with a field of type uint64 gives int64.
func signed(value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			converted, err := signed(inner)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if _, ok := inner.(uint64); ok { // else nothing is written, as others may read
				value[name] = converted
			}
		}
	case []any:
		for i, inner := range value {
			converted, err := signed(inner)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			if _, ok := inner.(uint64); ok {
				value[i] = converted
			}
		}
	case uint64:
		if value > math.MaxInt64 {
			return nil, fmt.Errorf("%d does not fit into int64", value)
		}
		return int64(value), nil
	}
	return value, nil
}
