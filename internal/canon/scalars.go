package canon

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The plans of values without parts.
type (
	boolPlan        struct{}
	intPlan         struct{ size uintptr } // in bytes
	uintPlan        struct{ size uintptr }
	floatPlan       struct{ size uintptr }
	stringPlan      struct{}
	numberPlan      struct{}
	unsupportedPlan struct{ goType reflect.Type }
)

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

// These are plans of types with a JSON form of their own that are so frequent that calling their
// MarshalJSON would cost too much. Each writes exactly the output of MarshalJSON.
type (
	timePlan        struct{}
	microTimePlan   struct{}
	durationPlan    struct{}
	quantityPlan    struct{}
	intOrStringPlan struct{}
)

func appendTime(dst []byte, t time.Time, layout string) []byte {
	if t.IsZero() {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, layout)
	return append(dst, '"')
}

func (timePlan) append(e *encoder, v place) error {
	e.buf = appendTime(e.buf, as[metav1.Time](v).Time, time.RFC3339)
	return nil
}

func (microTimePlan) append(e *encoder, v place) error {
	e.buf = appendTime(e.buf, as[metav1.MicroTime](v).Time, metav1.RFC3339Micro)
	return nil
}

func (durationPlan) append(e *encoder, v place) error {
	e.buf = appendString(e.buf, as[metav1.Duration](v).Duration.String())
	return nil
}

func (quantityPlan) append(e *encoder, v place) error {
	e.buf = appendQuantity(e.buf, as[resource.Quantity](v))
	return nil
}

func (intOrStringPlan) append(e *encoder, v place) error {
	switch value := as[intstr.IntOrString](v); value.Type {
	case intstr.Int:
		e.buf = strconv.AppendInt(e.buf, int64(value.IntVal), 10)
	case intstr.String:
		e.buf = appendString(e.buf, value.StrVal)
	default:
		return fmt.Errorf("cannot encode an IntOrString of type %d", value.Type)
	}
	return nil
}

// zeroTest returns a test for values without meaning of a field of type t in an API struct, or nil if
// all values have a meaning.
func zeroTest(t reflect.Type, addressable bool) func(place) bool {
	switch t {
	case timeType, microTimeType:
		return nil // null
	case quantityType:
		return func(v place) bool { return as[resource.Quantity](v).IsZero() }
	case intOrStringType:
		return func(v place) bool {
			value := as[intstr.IntOrString](v)
			return value.Type == intstr.Int && value.IntVal == 0
		}
	}
	isMarshaler := implements(t, jsonMarshalerType, addressable) || implements(t, textMarshalerType, addressable)
	if isMarshaler && t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		return isZeroValue(t)
	}
	return nil
}

var (
	decimalSuffixes = [...]string{"", "k", "M", "G", "T", "P", "E"}
	binarySuffixes  = [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
)

// appendQuantity appends the canonical form of a quantity, as Quantity.CanonicalizeBytes returns it
// after a trip over the wire. For common quantities, whole ones and thousandths, it needs no
// allocation.
//
// Quantity.MarshalJSON does not serve: it repeats the parsed text, such as 1.250 for 1250m, and a
// BinarySI amount that is no multiple of 1024 comes back as DecimalSI, 5000 as 5k.
func appendQuantity(dst []byte, quantity *resource.Quantity) []byte {
	// Methods of Quantity change their receiver while they compare or print. The value may be shared
	// with a cache, so they get a copy.
	q := *quantity
	dst = append(dst, '"')
	if whole, ok := q.AsInt64(); ok && whole != math.MinInt64 {
		dst = appendWhole(dst, whole, q.Format)
		return append(dst, '"')
	}
	milli := q.MilliValue()
	exact := resource.Quantity{Format: q.Format}
	exact.SetMilli(milli)
	switch {
	case q.Cmp(exact) != 0:
		dst = appendRare(dst, &q)
	case milli%1000 == 0:
		dst = appendWhole(dst, milli/1000, q.Format)
	default:
		dst = strconv.AppendInt(dst, milli, 10)
		dst = append(dst, thousandths(q.Format)...)
	}
	return append(dst, '"')
}

// appendRare appends a quantity by its own method. Up to v0.37, this method drops a magnitude for which
// there is no suffix, and writes 100 for 100000E.
func appendRare(dst []byte, q *resource.Quantity) []byte {
	number, suffix := q.CanonicalizeBytes(nil)
	if q.Format == resource.BinarySI && len(suffix) == 0 {
		q.Format = resource.DecimalSI
		number, suffix = q.CanonicalizeBytes(nil)
	}
	if written, err := resource.ParseQuantity(string(number)); len(suffix) == 0 && (err != nil || written.Cmp(*q) != 0) {
		q.Format = resource.DecimalExponent
		number, suffix = q.CanonicalizeBytes(nil)
	}
	return append(append(dst, number...), suffix...)
}

func thousandths(format resource.Format) string {
	if format == resource.DecimalSI || format == resource.BinarySI {
		return "m"
	}
	return "e-3"
}

// appendWhole appends an integral quantity with the largest suffix that leaves
// no fraction.
func appendWhole(dst []byte, n int64, format resource.Format) []byte {
	base, suffixes := int64(1000), &decimalSuffixes
	if format == resource.BinarySI && n%1024 == 0 {
		base, suffixes = 1024, &binarySuffixes
	}
	power := 0
	for n != 0 && n%base == 0 {
		n /= base
		power++
	}
	dst = strconv.AppendInt(dst, n, 10)
	if format == resource.DecimalSI || format == resource.BinarySI {
		return append(dst, suffixes[power]...)
	}
	if power > 0 {
		dst = strconv.AppendInt(append(dst, 'e'), int64(power)*3, 10)
	}
	return dst
}
