package canon

import (
	"reflect"
	"sync"
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
	start, from := e.beginMember(name)
	if p.empty != "" && elem.IsNil() {
		e.buf = append(e.buf, p.empty...)
	} else if err := p.elem.append(e, elem); err != nil {
		return inKey(name, err)
	}
	if !e.truncateIf(start, from, "null") {
		e.endMember(name, start)
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
