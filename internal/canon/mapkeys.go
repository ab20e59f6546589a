package canon

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
)

// keyTextOf returns how a map's keys are written, or nil if they cannot be.
func keyTextOf(t reflect.Type) func(reflect.Value) (string, error) {
	switch {
	case t.Kind() == reflect.String:
		return func(v reflect.Value) (string, error) { return v.String(), nil }
	case t.Implements(textMarshalerType):
		return marshaledKey
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(v reflect.Value) (string, error) { return strconv.FormatInt(v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return func(v reflect.Value) (string, error) { return strconv.FormatUint(v.Uint(), 10), nil }
	default:
		return nil
	}
}

func marshaledKey(v reflect.Value) (string, error) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "", nil
	}
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return "", fmt.Errorf("cannot marshal a key of type %s: %w", v.Type(), err)
	}
	return string(text), nil
}
