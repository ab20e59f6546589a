package canon

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// jsonPlan is for types with a MarshalJSON of their own: their output is parsed
// and written again in canonical form.
type jsonPlan struct{ goType reflect.Type }

func (p jsonPlan) append(e *encoder, v place) error {
	parsed, err := p.parse(v)
	if err != nil {
		return err
	}
	return e.any(parsed)
}

func (p jsonPlan) parse(v place) (any, error) {
	text, err := v.pointer(p.goType).(json.Marshaler).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot marshal %s: %w", p.goType, err)
	}
	parsed, err := parseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the JSON of %s: %w", p.goType, err)
	}
	return parsed, nil
}

// parseJSON reads one JSON value, with numbers as json.Number.
func parseJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var parsed any
	if err := decoder.Decode(&parsed); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return parsed, nil
}

// textPlan is for types with a MarshalText: they are strings in JSON.
type textPlan struct{ goType reflect.Type }

func (p textPlan) append(e *encoder, v place) error {
	text, err := v.pointer(p.goType).(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return fmt.Errorf("cannot marshal %s: %w", p.goType, err)
	}
	e.buf = appendString(e.buf, string(text))
	return nil
}

func isMarshalerPlan(p plan) bool {
	switch p.(type) {
	case jsonPlan, textPlan:
		return true
	default:
		return false
	}
}

// interfacePlan is for fields of an interface type: the value inside decides.
type interfacePlan struct{ goType reflect.Type }

func (p interfacePlan) append(e *encoder, v place) error {
	if v.isNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	return e.any(v.value(p.goType).Interface())
}

// quotedPlan is for fields tagged `json:",string"`.
type quotedPlan struct{ inner plan }

func (p quotedPlan) append(e *encoder, v place) error {
	start := len(e.buf)
	if _, text := p.inner.(stringPlan); text {
		// The inner quotes are part of the string, as in encoding/json.
		inner, err := json.Marshal(*as[string](v))
		if err != nil {
			return err
		}
		e.buf = appendString(e.buf, string(inner))
		return nil
	}
	if err := p.inner.append(e, v); err != nil {
		return err
	}
	e.buf = appendString(e.buf[:start], string(e.buf[start:]))
	return nil
}

// A rawExtensionPlan reads an object inside a RawExtension like any other value. The type's own
// MarshalJSON writes the output of encoding/json, including every empty struct that a later API version
// adds.
type rawExtensionPlan struct{ jsonPlan }

func (p rawExtensionPlan) append(e *encoder, v place) error {
	if extension := as[runtime.RawExtension](v); extension.Raw == nil && extension.Object != nil {
		return e.any(extension.Object)
	}
	return p.jsonPlan.append(e, v)
}
