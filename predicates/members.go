package predicates

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// contentOf returns the struct that obj points to, or the map of an unstructured object.
func contentOf(obj metav1.Object) reflect.Value {
	if u, ok := obj.(runtime.Unstructured); ok {
		return reflect.ValueOf(u.UnstructuredContent())
	}
	return indirect(reflect.ValueOf(obj))
}

// isMetadataOnly reports whether obj has neither content nor status.
func isMetadataOnly(obj metav1.Object) bool {
	_, ok := obj.(*metav1.PartialObjectMetadata)
	return ok
}

// A rule reports whether two members with the same name are equal.
type rule func(name string, a, b reflect.Value) bool

// sameContent reports whether a and b have the same members outside metadata, compared by
// same.
func sameContent(a, b metav1.Object, same rule) bool {
	return sameMembers(contentOf(a), contentOf(b), func(name string, a, b reflect.Value) bool {
		switch name {
		case "apiVersion", "kind", "metadata":
			return true
		default:
			return same(name, a, b)
		}
	})
}

// sameMembers reports whether a and b have the same members, compared by same. Members of a
// struct have their JSON names. A member missing from one of two maps is the zero Value there.
// Values without members are compared as a whole.
func sameMembers(a, b reflect.Value, same rule) bool {
	a, b = indirect(a), indirect(b)
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return equal(a, b)
	}
	switch {
	case a.Kind() == reflect.Struct:
		return sameFields(a, b, same)
	case isObject(a):
		return sameEntries(a, b, same) && sameEntries(b, a, func(name string, b, a reflect.Value) bool {
			return a.IsValid() || same(name, a, b)
		})
	default:
		return equal(a, b)
	}
}

func sameFields(a, b reflect.Value, same rule) bool {
	for i := range a.NumField() {
		name := jsonName(a.Type().Field(i))
		if name == "" && !sameMembers(a.Field(i), b.Field(i), same) || name != "" && !same(name, a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}

func sameEntries(a, b reflect.Value, same rule) bool {
	for entries := a.MapRange(); entries.Next(); {
		if !same(entries.Key().String(), entries.Value(), b.MapIndex(entries.Key())) {
			return false
		}
	}
	return true
}

// memberOf returns the member of a struct or map with this JSON name, or the zero Value.
func memberOf(v reflect.Value, name string) reflect.Value {
	v = indirect(v)
	switch {
	case v.Kind() == reflect.Struct:
		return fieldOf(v, name)
	case isObject(v):
		return indirect(v.MapIndex(reflect.ValueOf(name)))
	default:
		return reflect.Value{}
	}
}

func fieldOf(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		switch jsonName(v.Type().Field(i)) {
		case name:
			return v.Field(i)
		case "":
			if field := memberOf(v.Field(i), name); field.IsValid() {
				return field
			}
		}
	}
	return reflect.Value{}
}

// jsonName returns the JSON name of a field; empty if the field is inlined.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "" && !field.Anonymous {
		return field.Name
	}
	return name
}

// isObject reports whether v is an object of unstructured content.
func isObject(v reflect.Value) bool {
	return v.IsValid() && v.Type() == reflect.TypeFor[map[string]any]()
}

// indirect returns the value behind pointers and interfaces; the zero Value for nil.
func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}
