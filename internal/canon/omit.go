package canon

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// memberPlan compiles the plan of a field's value: the plan of its type, unless tags of the field
// change it.
func (c compiler) memberPlan(from *candidate, addressable bool) plan {
	if list := mergeList(from); list != nil {
		list.elem = c.plan(from.Type.Elem(), true)
		return list
	}
	if from.has("string") {
		return c.quoted(from.Type, addressable)
	}
	p := c.plan(from.Type, addressable)
	if !from.IsExported() && isMarshalerPlan(resolve(p)) {
		return unsupportedPlan{from.Type} // a field embedded under such a name does not promote its methods
	}
	return p
}

// quoted returns the plan for ",string" of encoding/json, which applies to scalars and pointers to
// scalars, and not to types with a form of their own.
func (c compiler) quoted(t reflect.Type, addressable bool) plan {
	if t.Kind() == reflect.Pointer && t.Name() == "" && t.Elem().Kind() != reflect.Pointer {
		return &pointerPlan{elem: c.quoted(t.Elem(), true)}
	}
	switch p := c.plan(t, addressable).(type) {
	case boolPlan, intPlan, uintPlan, floatPlan, stringPlan, numberPlan:
		return quotedPlan{p}
	default:
		return p
	}
}

// An omission is the test that decides, before a field's value is written, whether the value is left
// out. Most values are tested by a few bytes: calling a function for each field of a pod would cost
// more than writing the pod.
type omission struct {
	// The value is left out if size bytes at the offset from are 0.
	size, from uintptr
	// Or if the test says so.
	test func(place) bool
}

func (o *omission) applies(v place) bool {
	return o.size == wordSize && v.isZeroWord(o.from) || o.appliesRarely(v)
}

// appliesRarely is the rest of applies, for tests that need more than one word.
func (o *omission) appliesRarely(v place) bool {
	return o.size > 0 && v.field(o.from).uint(o.size) == 0 || o.test != nil && o.test(v)
}

// omissionOf returns the omission of a field's value. A null is left out in any case, and tested here
// where that is fast.
func omissionOf(from *candidate, addressable bool) omission {
	plain := omissionByKind(from, addressable)
	var tests []func(place) bool
	if from.has("omitzero") {
		tests = append(tests, isZero(from.Type))
	}
	if isAPI(from.declaredIn) {
		if zero := zeroTest(from.Type, addressable); zero != nil {
			tests = append(tests, zero)
		}
	}
	if len(tests) == 0 {
		return plain
	}
	if plain.test != nil {
		tests = append(tests, plain.test)
	}
	plain.test = func(v place) bool {
		return slices.ContainsFunc(tests, func(test func(place) bool) bool { return test(v) })
	}
	return plain
}

// omissionByKind is encoding/json's omitempty, but for lists: they are left out
// if they are nil and not if they are empty.
func omissionByKind(from *candidate, addressable bool) omission {
	t, omitempty := from.Type, from.has("omitempty")
	marshals := implements(t, jsonMarshalerType, addressable) || implements(t, textMarshalerType, addressable)
	isList := t.Kind() == reflect.Slice && !isBytes(t) && !marshals
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		return omitNil
	case reflect.Map:
		omitempty = omitempty || isAPI(from.declaredIn)
	}
	switch {
	case omitempty && !isList:
		return omitEmpty(t)
	case !marshals && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map):
		return omitNil
	default:
		return omission{}
	}
}

// A nil value begins with a zero word. The second word of a string or a slice is the length.
var (
	omitNil      = omission{size: wordSize}
	omitNoLength = omission{size: wordSize, from: wordSize}
)

// omitEmpty returns the omission of values that encoding/json treats as empty.
func omitEmpty(t reflect.Type) omission {
	switch t.Kind() {
	case reflect.String, reflect.Slice:
		return omitNoLength
	case reflect.Map:
		return omission{size: wordSize, test: func(v place) bool { return v.value(t).Len() == 0 }}
	case reflect.Array:
		return omission{test: func(place) bool { return t.Len() == 0 }}
	case reflect.Struct:
		return omission{}
	default:
		return omitZero(t)
	}
}

// omitZero leaves out false and the zero number.
func omitZero(t reflect.Type) omission {
	if t.Size() > 8 {
		return omission{test: isZeroValue(t)}
	}
	return omission{size: t.Size()}
}

func isZeroValue(t reflect.Type) func(place) bool {
	return func(v place) bool { return v.value(t).IsZero() }
}

type zeroer interface{ IsZero() bool }

var zeroerType = reflect.TypeFor[zeroer]()

// isZero is encoding/json's ",omitzero".
func isZero(t reflect.Type) func(place) bool {
	switch {
	case t == timeType:
		return func(v place) bool { return as[metav1.Time](v).IsZero() }
	case t.Kind() == reflect.Interface && t.Implements(zeroerType):
		return func(v place) bool {
			inner := v.value(t).Elem()
			return !inner.IsValid() || inner.Kind() == reflect.Pointer && inner.IsNil() || inner.Interface().(zeroer).IsZero()
		}
	case t.Kind() == reflect.Pointer && t.Implements(zeroerType):
		return func(v place) bool { return v.isNil() || v.value(t).Interface().(zeroer).IsZero() }
	case reflect.PointerTo(t).Implements(zeroerType):
		return func(v place) bool { return v.pointer(t).(zeroer).IsZero() }
	default:
		return isZeroValue(t)
	}
}
