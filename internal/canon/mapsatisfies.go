package canon

import (
	"reflect"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
)

func (p *mapPlan) satisfies(c *comparison, live, desired place) bool {
	if !c.enter() {
		return false
	}
	var satisfied bool
	if p.quantities {
		satisfied = quantitiesSatisfied(*as[map[string]resource.Quantity](live), *as[map[string]resource.Quantity](desired))
	} else {
		satisfied = p.entriesSatisfied(c, live.value(p.goType), desired.value(p.goType))
	}
	c.leave()
	return satisfied
}

func quantitiesSatisfied(live, desired map[string]resource.Quantity) bool {
	for name, d := range desired {
		l, ok := live[name]
		if !ok {
			l, ok = live[valid(name)]
		}
		if !ok || !sameQuantity(&l, &d) {
			return false
		}
	}
	return true
}

func (p *mapPlan) entriesSatisfied(c *comparison, live, desired reflect.Value) bool {
	for entries := desired.MapRange(); entries.Next(); {
		desiredElem := reflect.New(p.goType.Elem()).Elem()
		desiredElem.SetIterValue(entries)
		isNull := p.isNull(desiredElem)
		if isNull && !p.keepsNull {
			continue
		}
		found := lookUp(live, entries.Key())
		if !found.IsValid() {
			return false
		}
		liveElem := addressable(found)
		if p.empty != "" {
			desiredElem, liveElem = nonNil(desiredElem), nonNil(liveElem)
		}
		if isNull != p.isNull(liveElem) {
			return false
		}
		if !isNull && !p.elem.satisfies(c, targetOf(liveElem.Addr()), targetOf(desiredElem.Addr())) {
			return false
		}
	}
	return true
}

// isNull reports whether the form of an addressable value of the map is null.
func (p *mapPlan) isNull(elem reflect.Value) bool {
	return p.empty == "" && p.elem.null(targetOf(elem.Addr()))
}

// lookUp finds a key, also if the server had to make it UTF-8.
func lookUp(m, key reflect.Value) reflect.Value {
	found := m.MapIndex(key)
	if !found.IsValid() && key.Kind() == reflect.String && !utf8.ValidString(key.String()) {
		found = m.MapIndex(reflect.ValueOf(valid(key.String())).Convert(key.Type()))
	}
	return found
}

// nonNil returns v, or the empty map or slice for one that is nil.
func nonNil(v reflect.Value) reflect.Value {
	switch {
	case !v.IsNil():
		return v
	case v.Kind() == reflect.Map:
		return addressable(reflect.MakeMap(v.Type()))
	default:
		return addressable(reflect.MakeSlice(v.Type(), 0, 0))
	}
}
