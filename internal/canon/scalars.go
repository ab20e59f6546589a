package canon

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// The plans of values without parts.
type (
	boolPlan  struct{ notNull }
	intPlan   struct{ notNull }
	uintPlan  struct{ notNull }
	floatPlan struct {
		notNull
		bits int
	}
	stringPlan      struct{ notNull }
	numberPlan      struct{ notNull }
	unsupportedPlan struct{ goType reflect.Type }
)

// notNull is the null of every plan whose values always have a form.
type notNull struct{}

func (notNull) null(reflect.Value) bool { return false }

func (boolPlan) append(e *encoder, v reflect.Value) error {
	e.buf = strconv.AppendBool(e.buf, v.Bool())
	return nil
}

func (boolPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return live.Bool() == desired.Bool()
}

func (intPlan) append(e *encoder, v reflect.Value) error {
	e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	return nil
}

func (intPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return live.Int() == desired.Int()
}

func (uintPlan) append(e *encoder, v reflect.Value) error {
	e.buf = strconv.AppendUint(e.buf, v.Uint(), 10)
	return nil
}

func (uintPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return live.Uint() == desired.Uint()
}

func (p floatPlan) append(e *encoder, v reflect.Value) (err error) {
	e.buf, err = appendFloat(e.buf, v.Float(), p.bits)
	return err
}

func (floatPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return live.Float() == desired.Float() && !math.IsInf(desired.Float(), 0)
}

func (stringPlan) append(e *encoder, v reflect.Value) error {
	e.buf = appendString(e.buf, v.String())
	return nil
}

func (stringPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return sameText(live.String(), desired.String())
}

func (numberPlan) append(e *encoder, v reflect.Value) (err error) {
	e.buf, err = appendNumber(e.buf, json.Number(v.String()))
	return err
}

func (p numberPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return sameForm(p, live, desired)
}

func (p unsupportedPlan) append(*encoder, reflect.Value) error { return unsupported(p.goType) }
func (unsupportedPlan) null(reflect.Value) bool                { return false }
func (unsupportedPlan) satisfies(*comparison, reflect.Value, reflect.Value) bool {
	return false
}

// sameForm reports whether a and b have the same canonical form.
func sameForm(p plan, a, b reflect.Value) bool {
	x, errX := encode(nil, func(e *encoder) error { return p.append(e, a) })
	y, errY := encode(nil, func(e *encoder) error { return p.append(e, b) })
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
