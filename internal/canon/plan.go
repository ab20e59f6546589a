package canon

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A plan reads the values of one Go type. It is compiled once per type and has no state.
type plan interface {
	// append writes the canonical form of v; "null" if there is none.
	append(e *encoder, v place) error
}

// A planKey distinguishes the two ways in which encoding/json reads a type with methods on its pointer:
// the methods count only where the address can be taken.
type planKey struct {
	goType      reflect.Type
	addressable bool
}

// plans are those compiled so far.
var plans struct{ addressable, others sync.Map } // reflect.Type to plan

func (k planKey) known() *sync.Map {
	if k.addressable {
		return &plans.addressable
	}
	return &plans.others
}

func planOf(t reflect.Type, addressable bool) plan {
	key := planKey{t, addressable}
	if known, ok := key.known().Load(t); ok {
		return known.(plan)
	}
	c := compiler{}
	compiled := c.plan(t, addressable)
	for key, p := range c {
		key.known().Store(key.goType, p)
	}
	return compiled
}

// A compiler holds all plans, finished or not, so that a type that contains itself finds its own plan.
type compiler map[planKey]plan

var (
	timeType        = reflect.TypeFor[metav1.Time]()
	microTimeType   = reflect.TypeFor[metav1.MicroTime]()
	durationType    = reflect.TypeFor[metav1.Duration]()
	quantityType    = reflect.TypeFor[resource.Quantity]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
	selectorType    = reflect.TypeFor[metav1.LabelSelector]()
	numberType      = reflect.TypeFor[json.Number]()

	rawExtensionType = reflect.TypeFor[runtime.RawExtension]()

	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

func (c compiler) plan(t reflect.Type, addressable bool) plan {
	key := planKey{t, addressable}
	if known, ok := key.known().Load(t); ok {
		return known.(plan)
	}
	if begun, ok := c[key]; ok {
		return begun
	}
	if p := leafPlan(t, addressable); p != nil {
		c[key] = p
		return p
	}
	return c.composite(key)
}

// leafPlan returns the plan of a type without parts, or nil for other types.
func leafPlan(t reflect.Type, addressable bool) plan {
	switch t {
	case timeType:
		return timePlan{}
	case microTimeType:
		return microTimePlan{}
	case durationType:
		return durationPlan{}
	case quantityType:
		return quantityPlan{}
	case intOrStringType:
		return intOrStringPlan{}
	case rawExtensionType:
		return rawExtensionPlan{jsonPlan{t}}
	}
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		switch {
		case implements(t, jsonMarshalerType, addressable):
			return jsonPlan{t}
		case implements(t, textMarshalerType, addressable):
			return textPlan{t}
		}
	}
	return kindPlan(t)
}

func kindPlan(t reflect.Type) plan {
	switch t.Kind() {
	case reflect.Bool:
		return boolPlan{}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intPlan{size: t.Size()}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return uintPlan{size: t.Size()}
	case reflect.Float32, reflect.Float64:
		return floatPlan{size: t.Size()}
	case reflect.String:
		if t == numberType {
			return numberPlan{}
		}
		return stringPlan{}
	case reflect.Interface:
		return interfacePlan{t}
	case reflect.Pointer, reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		return nil
	default:
		return unsupportedPlan{t}
	}
}

// composite compiles the plan of a type with parts. The plan is registered before its parts are
// compiled.
func (c compiler) composite(key planKey) plan {
	t := key.goType
	switch t.Kind() {
	case reflect.Pointer:
		p := &pointerPlan{}
		c[key] = p
		p.elem = c.plan(t.Elem(), true)
		return p
	case reflect.Struct:
		p := &structPlan{secret: t.Name() == "Secret" && t.PkgPath() == "k8s.io/api/core/v1"}
		c[key] = p
		p.fields = c.fields(t, key.addressable)
		p.env = envOf(t)
		return p
	case reflect.Map:
		return c.mapPlan(key)
	case reflect.Array:
		p := &listPlan{size: t.Elem().Size(), length: t.Len()}
		c[key] = p
		p.elem = c.plan(t.Elem(), key.addressable)
		return p
	default:
		if isBytes(t) {
			c[key] = bytesPlan{}
			return bytesPlan{}
		}
		p := &listPlan{size: t.Elem().Size(), slice: true}
		c[key] = p
		p.elem = c.plan(t.Elem(), true)
		return p
	}
}

// isBytes reports whether encoding/json writes t in base64.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 &&
		!implements(t.Elem(), jsonMarshalerType, true) && !implements(t.Elem(), textMarshalerType, true)
}

func implements(t, method reflect.Type, addressable bool) bool {
	return t.Implements(method) || addressable && reflect.PointerTo(t).Implements(method)
}

// isAPI reports whether t is declared in k8s.io/api or k8s.io/apimachinery, where empty values have no
// meaning.
func isAPI(t reflect.Type) bool {
	path := t.PkgPath()
	return strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, "k8s.io/apimachinery/")
}
