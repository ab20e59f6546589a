package canon

import (
	"encoding/json"
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

func (p intPlan) append(e *encoder, v place) error {
	e.buf = strconv.AppendInt(e.buf, v.int(p.size), 10)
	return nil
}

func (p uintPlan) append(e *encoder, v place) error {
	e.buf = strconv.AppendUint(e.buf, v.uint(p.size), 10)
	return nil
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

func (stringPlan) append(e *encoder, v place) error {
	e.buf = appendString(e.buf, *as[string](v))
	return nil
}

func (numberPlan) append(e *encoder, v place) (err error) {
	e.buf, err = appendNumber(e.buf, *as[json.Number](v))
	return err
}

func (p unsupportedPlan) append(*encoder, place) error { return unsupported(p.goType) }
func (unsupportedPlan) null(place) bool                { return false }
