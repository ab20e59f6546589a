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

// emptyTest returns how to tell that a field's value is left out, before it is
// written; nil if nothing but null is.
func emptyTest(from *candidate, addressable bool) func(reflect.Value) bool {
	var tests []func(reflect.Value) bool
	if from.has("omitzero") {
		tests = append(tests, isZero(from.Type))
	}
	inAPI := isAPI(from.declaredIn)
	if inAPI {
		if zero := zeroTest(from.Type, addressable); zero != nil {
			tests = append(tests, zero)
		}
	}
	switch from.Type.Kind() {
	case reflect.Pointer, reflect.Interface:
		tests = append(tests, reflect.Value.IsNil)
	case reflect.Slice:
		if isBytes(from.Type) && from.has("omitempty") {
			tests = append(tests, hasNoLength)
		}
	case reflect.Map:
		if inAPI || from.has("omitempty") {
			tests = append(tests, hasNoLength)
		}
	case reflect.String, reflect.Array:
		if from.has("omitempty") {
			tests = append(tests, hasNoLength)
		}
	case reflect.Struct:
	default:
		if from.has("omitempty") {
			tests = append(tests, reflect.Value.IsZero)
		}
	}
	return either(tests)
}

func hasNoLength(v reflect.Value) bool { return v.Len() == 0 }

func either(tests []func(reflect.Value) bool) func(reflect.Value) bool {
	switch len(tests) {
	case 0:
		return nil
	case 1:
		return tests[0]
	default:
		rest := either(tests[1:])
		return func(v reflect.Value) bool { return tests[0](v) || rest(v) }
	}
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
