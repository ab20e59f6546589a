package canon

import (
	"encoding"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// member is one entry of a map on its way into order: its name, and either its
// text or where in the buffer it was written.
type member struct {
	name       string
	text       string
	start, end int
}

// sortMembers sorts by name. Keys that differ in Go and not in JSON have no
// order and no JSON form.
func sortMembers(members []member) error {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(members); i++ {
		if members[i].name == members[i-1].name {
			return fmt.Errorf("two keys are %q in JSON", members[i].name)
		}
	}
	return nil
}

var (
	stringMapType = reflect.TypeFor[map[string]string]()
	bytesMapType  = reflect.TypeFor[map[string][]byte]()
)

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
	p.empty = emptyForm(t.Elem(), p.elem)
	p.scratch.New = func() any {
		return &mapScratch{key: reflect.New(t.Key()).Elem(), elem: reflect.New(t.Elem()).Elem()}
	}
	return p
}

// mapPlan reads a map. Its members are written in whatever order they come and
// then moved, as looking each up by its key costs an allocation.
type mapPlan struct {
	goType  reflect.Type
	keyText func(reflect.Value) (string, error)
	elem    plan
	empty   string // what a nil value is written as; "" if it is left out
	scratch sync.Pool
}

type mapScratch struct {
	iterator  reflect.MapIter
	key, elem reflect.Value
}

func (p *mapPlan) null(v reflect.Value) bool { return v.IsNil() }

func (p *mapPlan) append(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	s := p.scratch.Get().(*mapScratch)
	defer p.release(s)
	s.iterator.Reset(v)
	order := e.begin()
	for s.iterator.Next() {
		s.key.SetIterKey(&s.iterator)
		s.elem.SetIterValue(&s.iterator)
		name, err := p.keyText(s.key)
		if err != nil {
			return err
		}
		if err := p.appendElem(e, name, s.elem); err != nil {
			return err
		}
	}
	return e.arrange(order)
}

func (p *mapPlan) appendElem(e *encoder, name string, elem reflect.Value) error {
	start := len(e.buf)
	e.buf = append(appendString(e.buf, name), ':')
	from := len(e.buf)
	if p.empty != "" && elem.IsNil() {
		e.buf = append(e.buf, p.empty...)
	} else if err := p.elem.append(e, elem); err != nil {
		return inKey(name, err)
	}
	if !e.truncateIf(start, from, "null") {
		e.members = append(e.members, member{name: valid(name), start: start, end: len(e.buf)})
	}
	return nil
}

// emptyForm returns what a nil value of a map is written as: a nil list, map or
// []byte is the empty one, for its key is there.
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

// arrangement remembers where an object's members began.
type arrangement struct{ members, start int }

// begin opens an object whose members are written in no order.
func (e *encoder) begin() arrangement {
	e.buf = append(e.buf, '{')
	return arrangement{len(e.members), len(e.buf)}
}

// arrange brings the members written since begin in order and closes the object.
func (e *encoder) arrange(from arrangement) error {
	members := e.members[from.members:]
	if err := sortMembers(members); err != nil {
		return err
	}
	at := len(e.scratch)
	e.scratch = append(e.scratch, e.buf[from.start:]...)
	e.buf = e.buf[:from.start]
	for _, m := range members {
		e.buf = append(e.buf, e.scratch[at+m.start-from.start:at+m.end-from.start]...)
		e.buf = append(e.buf, ',')
	}
	e.closeObject()
	e.scratch = e.scratch[:at]
	e.members = e.members[:from.members]
	return nil
}

func (p *mapPlan) satisfies(c *comparison, live, desired reflect.Value) bool {
	if !c.enter() {
		return false
	}
	defer c.leave()
	for entries := desired.MapRange(); entries.Next(); {
		liveElem, desiredElem := newElem(p.goType), newElem(p.goType)
		desiredElem.SetIterValue(entries)
		if p.empty == "" && p.elem.null(desiredElem) {
			continue
		}
		found := live.MapIndex(entries.Key())
		if !found.IsValid() {
			return false
		}
		liveElem.Set(found)
		if p.empty != "" && desiredElem.IsNil() {
			desiredElem = emptyLike(desiredElem)
		}
		if p.empty != "" && liveElem.IsNil() {
			liveElem = emptyLike(liveElem)
		}
		if !p.elem.satisfies(c, liveElem, desiredElem) {
			return false
		}
	}
	return true
}

func newElem(mapType reflect.Type) reflect.Value { return reflect.New(mapType.Elem()).Elem() }

func emptyLike(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Map {
		return addressable(reflect.MakeMap(v.Type()))
	}
	return addressable(reflect.MakeSlice(v.Type(), 0, 0))
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

func appendBase64(dst, value []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, value)
	return append(dst, '"')
}
