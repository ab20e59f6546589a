package canon

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// jsonPlan is for types with a MarshalJSON of their own: their output is parsed
// and written again in canonical form.
type jsonPlan struct{}

func (p jsonPlan) append(e *encoder, v reflect.Value) error {
	parsed, err := p.parse(v)
	if err != nil {
		return err
	}
	return e.any(parsed)
}

func (p jsonPlan) null(v reflect.Value) bool {
	parsed, err := p.parse(v)
	return err == nil && parsed == nil
}

func (p jsonPlan) satisfies(c *comparison, live, desired reflect.Value) bool {
	l, errLive := p.parse(live)
	d, errDesired := p.parse(desired)
	return errLive == nil && errDesired == nil && c.any(l, d)
}

func (jsonPlan) parse(v reflect.Value) (any, error) {
	if !v.CanInterface() {
		return nil, unsupported(v.Type())
	}
	text, err := v.Addr().Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot marshal %s: %w", v.Type(), err)
	}
	parsed, err := parseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the JSON of %s: %w", v.Type(), err)
	}
	return parsed, nil
}

// parseJSON reads one JSON value, its numbers as json.Number.
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
type textPlan struct{ notNull }

func (textPlan) append(e *encoder, v reflect.Value) error {
	if !v.CanInterface() {
		return unsupported(v.Type())
	}
	text, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return fmt.Errorf("cannot marshal %s: %w", v.Type(), err)
	}
	e.buf = appendString(e.buf, string(text))
	return nil
}

func (p textPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return sameForm(p, live, desired)
}

// interfacePlan is for fields of an interface type: the value inside decides.
type interfacePlan struct{}

func (interfacePlan) append(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	return e.any(v.Interface())
}

func (interfacePlan) null(v reflect.Value) bool {
	return v.IsNil() || isNull(v.Interface())
}

func (interfacePlan) satisfies(c *comparison, live, desired reflect.Value) bool {
	return c.any(live.Interface(), desired.Interface())
}

// quotedPlan is for fields tagged `json:",string"`.
type quotedPlan struct{ inner plan }

func (p quotedPlan) append(e *encoder, v reflect.Value) error {
	start := len(e.buf)
	if _, text := p.inner.(stringPlan); text {
		// The inner quotes are a string's content: what encoding/json writes.
		inner, err := json.Marshal(v.String())
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

func (p quotedPlan) null(v reflect.Value) bool { return p.inner.null(v) }

func (p quotedPlan) satisfies(c *comparison, live, desired reflect.Value) bool {
	return p.inner.satisfies(c, live, desired)
}
