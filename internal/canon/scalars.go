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
	boolPlan        struct{ notNull }
	intPlan         struct{ sized }
	uintPlan        struct{ sized }
	floatPlan       struct{ sized }
	stringPlan      struct{ notNull }
	numberPlan      struct{ notNull }
	unsupportedPlan struct{ goType reflect.Type }
)

// sized is a number of so many bytes.
type sized struct {
	notNull
	size uintptr
}

// notNull is the null of every plan whose values always have a form.
type notNull struct{}

func (notNull) null(place) bool { return false }

func (boolPlan) append(e *encoder, v place) error {
	e.buf = strconv.AppendBool(e.buf, *as[bool](v))
	return nil
}

func (boolPlan) satisfies(_ *comparison, live, desired place) bool {
	return *as[bool](live) == *as[bool](desired)
}

func (p intPlan) append(e *encoder, v place) error {
	e.buf = strconv.AppendInt(e.buf, v.int(p.size), 10)
	return nil
}

func (p intPlan) satisfies(_ *comparison, live, desired place) bool {
	return live.int(p.size) == desired.int(p.size)
}

func (p uintPlan) append(e *encoder, v place) error {
	e.buf = strconv.AppendUint(e.buf, v.uint(p.size), 10)
	return nil
}

func (p uintPlan) satisfies(_ *comparison, live, desired place) bool {
	return live.uint(p.size) == desired.uint(p.size)
}

func (p floatPlan) append(e *encoder, v place) (err error) {
	e.buf, err = appendFloat(e.buf, p.read(v), int(p.size)*8)
	return err
}

func (p floatPlan) read(v place) float64 {
	if p.size == 4 {
		return float64(*as[float32](v))
	}
	return *as[float64](v)
}

func (p floatPlan) satisfies(_ *comparison, live, desired place) bool {
	return p.read(live) == p.read(desired) && !math.IsInf(p.read(desired), 0)
}

func (stringPlan) append(e *encoder, v place) error {
	e.buf = appendString(e.buf, *as[string](v))
	return nil
}

func (stringPlan) satisfies(_ *comparison, live, desired place) bool {
	return sameText(*as[string](live), *as[string](desired))
}

func (numberPlan) append(e *encoder, v place) (err error) {
	e.buf, err = appendNumber(e.buf, *as[json.Number](v))
	return err
}

func (p numberPlan) satisfies(_ *comparison, live, desired place) bool {
	return sameForm(p, live, desired)
}

func (p unsupportedPlan) append(*encoder, place) error { return unsupported(p.goType) }
func (unsupportedPlan) null(place) bool                { return false }
func (unsupportedPlan) satisfies(*comparison, place, place) bool {
	return false
}

// sameForm reports whether a and b have the same canonical form.
func sameForm(p plan, a, b place) bool {
	x, errX := encode(nil, func(e *encoder) error { return p.append(e, a) })
	y, errY := encode(nil, func(e *encoder) error { return p.append(e, b) })
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
