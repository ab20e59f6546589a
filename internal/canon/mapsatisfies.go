package canon

import (
	"reflect"
	"unicode/utf8"
)

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
		found := lookUp(live, entries.Key())
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

// lookUp finds a key, also if the server had to make it UTF-8.
func lookUp(m, key reflect.Value) reflect.Value {
	found := m.MapIndex(key)
	if !found.IsValid() && key.Kind() == reflect.String && !utf8.ValidString(key.String()) {
		found = m.MapIndex(reflect.ValueOf(valid(key.String())).Convert(key.Type()))
	}
	return found
}

func newElem(mapType reflect.Type) reflect.Value { return reflect.New(mapType.Elem()).Elem() }

func emptyLike(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Map {
		return addressable(reflect.MakeMap(v.Type()))
	}
	return addressable(reflect.MakeSlice(v.Type(), 0, 0))
}
