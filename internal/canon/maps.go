package canon

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

var stringMapType = reflect.TypeFor[map[string]string]()

func (c compiler) mapPlan(key planKey) plan {
	t := key.goType
	if t == stringMapType {
		c[key] = stringMapPlan{}
		return stringMapPlan{}
	}
	p := &mapPlan{goType: t}
	c[key] = p
	if p.keyText = keyTextOf(t.Key()); p.keyText == nil {
		c[key] = unsupportedPlan{t}
		return c[key]
	}
	p.elem = c.plan(t.Elem(), false)
	p.quantities = t.Key().Kind() == reflect.String && t.Elem() == quantityType
	p.empty = emptyForm(t.Elem(), p.elem)
	p.keepsNull = isFree(p.elem)
	p.scratch.New = func() any {
		return &mapScratch{key: reflect.New(t.Key()).Elem(), elem: reflect.New(t.Elem()).Elem()}
	}
	return p
}

// A mapPlan reads a map. Members are written in the order of the map and sorted afterwards, as a lookup
// by key costs an allocation.
type mapPlan struct {
	goType  reflect.Type
	keyText func(reflect.Value) (string, error)
	elem    plan
	empty   string // the form of a nil value; "" if nil values are left out
	// keepsNull is for values that may be any JSON.
	keepsNull bool
	scratch   sync.Pool

	// quantities says that the map is read as a map[string]resource.Quantity, as a pod has many such
	// maps: in memory, and for hashing and comparing, a key of a named string type is a string.
	quantities bool
}

// mapScratch is where an entry is copied to, for want of a place in the map.
type mapScratch struct {
	iterator  reflect.MapIter
	key, elem reflect.Value
}

func (p *mapPlan) append(e *encoder, v place) error {
	if v.isNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	order := e.begin()
	if p.quantities {
		e.quantities(*as[map[string]resource.Quantity](v))
	} else if err := p.appendEntries(e, v); err != nil {
		return err
	}
	e.leave()
	return e.arrange(order)
}

func (p *mapPlan) appendEntries(e *encoder, v place) error {
	s := p.scratch.Get().(*mapScratch)
	defer p.release(s)
	s.iterator.Reset(v.value(p.goType))
	for s.iterator.Next() {
		s.key.SetIterKey(&s.iterator)
		s.elem.SetIterValue(&s.iterator)
		name, err := p.keyText(s.key)
		if err != nil {
			return err
		}
		if err := p.appendElem(e, name, targetOf(s.elem.Addr())); err != nil {
			return err
		}
	}
	return nil
}

// quantities writes a map of quantities by strings, such as the requests and limits of the containers
// of a pod.
func (e *encoder) quantities(m map[string]resource.Quantity) {
	for name, quantity := range m {
		begun, _ := e.beginMember(name)
		e.buf = appendQuantity(e.buf, &quantity)
		e.endMember(begun)
	}
}

func (p *mapPlan) appendElem(e *encoder, name string, elem place) error {
	begun, from := e.beginMember(name)
	if p.empty != "" && elem.isNil() {
		e.buf = append(e.buf, p.empty...)
	} else if err := p.elem.append(e, elem); err != nil {
		return inKey(name, err)
	}
	if p.keepsNull || !e.truncateIf(begun.start, from, "null") {
		e.endMember(begun)
	}
	return nil
}

// isFree reports whether values of an unknown shape are read by p.
func isFree(p plan) bool {
	switch p.(type) {
	case jsonPlan, rawExtensionPlan, interfacePlan:
		return true
	default:
		return false
	}
}

// emptyForm returns the form of a nil value in a map: a nil list, map or []byte is written as an empty
// one, as its key is present.
func emptyForm(t reflect.Type, elem plan) string {
	switch elem.(type) {
	case bytesPlan:
		return `""`
	case *listPlan:
		if t.Kind() == reflect.Slice {
			return "[]"
		}
	case *mapPlan, stringMapPlan:
		return "{}"
	}
	return ""
}

// release returns s to the pool, holding on to nothing.
func (p *mapPlan) release(s *mapScratch) {
	s.iterator.Reset(reflect.Value{})
	s.key.SetZero()
	s.elem.SetZero()
	p.scratch.Put(s)
}

// A stringMapPlan reads a map[string]string: labels, annotations, the data of a ConfigMap. These maps
// are by far the most frequent, and need no reflection.
type stringMapPlan struct{}

func (stringMapPlan) append(e *encoder, v place) error {
	if v.isNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	return e.stringMap(*as[map[string]string](v), isAny)
}

// stringMap writes the entries of a map whose keys keep accepts. The entries are sorted before they are
// written, as a text may be long.
func (e *encoder) stringMap(m map[string]string, keep func(string) bool) error {
	from := len(e.members)
	for key, text := range m {
		if keep(key) {
			e.members = append(e.members, member{name: key, text: text})
		}
	}
	members := e.members[from:]
	for i := range members {
		members[i].checkName()
	}
	if err := sortMembers(members); err != nil {
		return err
	}
	e.buf = append(e.buf, '{')
	for i := range members {
		e.buf = append(members[i].appendName(e.buf), ':')
		e.buf = append(appendString(e.buf, members[i].text), ',')
	}
	e.closeObject()
	e.dropMembers(from)
	return nil
}

// checkName sets the name to its form in JSON. Most names have that form already.
func (m *member) checkName() {
	if m.plain = isPlain(m.name); !m.plain {
		m.name = validUTF8(m.name)
	}
}

func (m *member) appendName(dst []byte) []byte {
	if m.plain {
		return appendPlain(dst, m.name)
	}
	return appendString(dst, m.name)
}

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

func isAny(string) bool { return true }
