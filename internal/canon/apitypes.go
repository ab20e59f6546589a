package canon

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// These are plans of types with a JSON form of their own that are so frequent that calling their
// MarshalJSON would cost too much. Each writes exactly the output of MarshalJSON.
type (
	timePlan        struct{}
	microTimePlan   struct{}
	durationPlan    struct{ notNull }
	quantityPlan    struct{ notNull }
	intOrStringPlan struct{ notNull }
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

func (timePlan) null(v place) bool { return as[metav1.Time](v).IsZero() }

func (microTimePlan) append(e *encoder, v place) error {
	e.buf = appendTime(e.buf, as[metav1.MicroTime](v).Time, metav1.RFC3339Micro)
	return nil
}

func (microTimePlan) null(v place) bool {
	return as[metav1.MicroTime](v).IsZero()
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
