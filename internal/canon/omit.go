package canon

import "reflect"

// memberPlan compiles the plan of a field's value: that of its type, unless the
// field's tags say more.
func (c compiler) memberPlan(from *candidate, addressable bool) plan {
	if list := mergeList(from); list != nil {
		list.elem = c.plan(from.Type.Elem(), true)
		return list
	}
	if from.has("string") {
		return c.quoted(from.Type, addressable)
	}
	return c.plan(from.Type, addressable)
}

// quoted is encoding/json's ",string": it holds for scalars and pointers to
// them, and not for types with a form of their own.
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

// omission is the test by which a field's value is left out before it is
// written. Most are told by kind: calling a function for each field of a pod
// costs more than all that is written of it.
type omission struct {
	kind omissionKind
	test func(reflect.Value) bool // for omitIf
}

type omissionKind uint8

const (
	omitNever omissionKind = iota
	omitNil
	omitEmpty // of length 0
	omitZero  // the zero number, false
	omitIf
)

func (o *omission) applies(v reflect.Value) bool {
	switch o.kind {
	case omitNil:
		return v.IsNil()
	case omitEmpty:
		return v.Len() == 0
	case omitZero:
		return v.IsZero()
	case omitIf:
		return o.test(v)
	default:
		return false
	}
}

// omissionOf returns when a field's value is left out. What is null is left out
// in any case; it is among the tests where that is quickly seen.
func omissionOf(from *candidate, addressable bool) omission {
	plain := omission{kind: omissionByKind(from, addressable)}
	var tests []func(reflect.Value) bool
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
	return omission{kind: omitIf, test: func(v reflect.Value) bool {
		for _, test := range tests {
			if test(v) {
				return true
			}
		}
		return plain.applies(v)
	}}
}

// omissionByKind is encoding/json's omitempty, but for lists: they are left out
// if they are nil and not if they are empty.
func omissionByKind(from *candidate, addressable bool) omissionKind {
	empty := from.has("omitempty")
	marshals := implements(from.Type, jsonMarshalerType, addressable) || implements(from.Type, textMarshalerType, addressable)
	switch kind := from.Type.Kind(); kind {
	case reflect.Pointer, reflect.Interface:
		return omitNil
	case reflect.Slice, reflect.Map:
		asJSON := marshals || isBytes(from.Type) || kind == reflect.Map
		switch {
		case empty && asJSON, kind == reflect.Map && isAPI(from.declaredIn):
			return omitEmpty
		case !marshals:
			return omitNil
		}
	case reflect.String, reflect.Array:
		if empty {
			return omitEmpty
		}
	case reflect.Struct:
	default:
		if empty {
			return omitZero
		}
	}
	return omitNever
}

type zeroer interface{ IsZero() bool }

var zeroerType = reflect.TypeFor[zeroer]()

// isZero is encoding/json's ",omitzero".
func isZero(t reflect.Type) func(reflect.Value) bool {
	switch {
	case t.Kind() == reflect.Interface && t.Implements(zeroerType):
		return func(v reflect.Value) bool {
			return v.IsNil() || v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil() || v.Interface().(zeroer).IsZero()
		}
	case t.Kind() == reflect.Pointer && t.Implements(zeroerType):
		return func(v reflect.Value) bool { return v.IsNil() || v.Interface().(zeroer).IsZero() }
	case reflect.PointerTo(t).Implements(zeroerType):
		return func(v reflect.Value) bool { return v.Addr().Interface().(zeroer).IsZero() }
	default:
		return reflect.Value.IsZero
	}
}
