package predicates

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// equal reports whether two values have the same meaning. It differs from reflect.DeepEqual in
// quantities and times, which can be written in several forms. equality.Semantic would panic
// at unexported fields of unknown types, and treats nil as empty, which is wrong for a label
// selector or a NetworkPolicy.
func equal(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return !a.IsValid() && !b.IsValid()
	}
	switch a.Kind() {
	case reflect.Struct:
		return equalStructs(a, b)
	case reflect.Pointer, reflect.Interface:
		return equal(a.Elem(), b.Elem()) // the zero Value for nil
	case reflect.Slice:
		return a.IsNil() == b.IsNil() && equalElements(a, b)
	case reflect.Array:
		return equalElements(a, b)
	case reflect.Map:
		return a.IsNil() == b.IsNil() && equalEntries(a, b)
	case reflect.Func:
		return a.IsNil() && b.IsNil()
	default:
		return a.Equal(b)
	}
}

func equalStructs(a, b reflect.Value) bool {
	switch a.Type() {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[time.Time]():
		if a.CanInterface() { // not in an unexported field
			return equalForms(a.Interface(), b.Interface())
		}
	}
	for i := range a.NumField() {
		if !equal(a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}

func equalForms(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		return t.Equal(b.(time.Time))
	}
	q := a.(resource.Quantity)
	return q.Cmp(b.(resource.Quantity)) == 0
}

func equalElements(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !equal(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func equalEntries(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for entries := a.MapRange(); entries.Next(); {
		if !equal(entries.Value(), b.MapIndex(entries.Key())) {
			return false
		}
	}
	return true
}
