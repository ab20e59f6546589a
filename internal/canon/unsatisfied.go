package canon

import (
	"reflect"
	"strconv"
)

// Satisfies reports whether live has every value that desired specifies: labels, annotations, owner
// references, finalizers and the content, never the status. It is false if the two have different Go
// types, or if a value has no canonical form.
//
// Maps of live may have more keys. Lists with a merge key may have more items: for each item of
// desired, live needs an item with the same key that satisfies the item, in the order of desired. Sets
// may have more members. Other lists match item by item and in length. Absence satisfies an empty list,
// and an empty map of a typed object.
//
// Satisfies finds every changed and every removed value. It overlooks additions inside parts that the
// API server replaces as a whole, such as a selector. It treats every list in unstructured and custom
// objects as such a part, as it does not know which of them the server merges.
func Satisfies(live, desired Object) bool { return len(Unsatisfied(live, desired)) == 0 }

// Unsatisfied returns the places where live does not satisfy desired, in the sense of Satisfies, or
// nil. Old is the value of live, and New the value of desired.
func Unsatisfied(live, desired Object) []Change {
	return changes(live, desired, specified, (*walk).unsatisfied)
}

// specified are the parts that live has to satisfy.
var specified = parts{metadata: true, digests: true, explicit: true}

// readBoth reads two objects; false if they cannot be compared.
func readBoth(a, b Object) (x, y content, ok bool) {
	x, errX := read(a)
	y, errY := read(b)
	if errX != nil || errY != nil || reflect.TypeOf(x.object) != reflect.TypeOf(y.object) {
		return x, y, false
	}
	return x, y, true
}

// unsatisfied collects the paths at which live does not satisfy desired, in the sense of Satisfies.
func (w *walk) unsatisfied(s shape, path string, live, desired any) {
	switch d := desired.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			w.unsatisfiedMembers(s, path, l, d)
			return
		}
	case []any:
		if l, ok := live.([]any); ok {
			w.unsatisfiedItems(s, path, l, d)
			return
		}
	}
	if !equal(live, desired) {
		w.addValues(s, path, live, desired)
	}
}

func (w *walk) unsatisfiedMembers(s shape, path string, live, desired map[string]any) {
	for _, name := range sortedNames(desired) {
		inner, innerPath := s.member(path, name)
		l, ok := live[name]
		if !ok && isObject(desired[name]) && inner.isAlwaysThere() {
			l, ok = orEmpty(l), true
		}
		switch {
		case ok:
			w.unsatisfied(inner, innerPath, l, desired[name])
		case s.isMap() || !isEmptyList(desired[name]): // absence satisfies an empty list, but for a key
			w.addValues(inner, innerPath, nil, desired[name])
		}
	}
}

func isEmptyList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

func (w *walk) unsatisfiedItems(s shape, path string, live, desired []any) {
	item, rule := s.items()
	if rule.kind != atomic {
		w.unsatisfiedMerged(item, rule, path, live, desired)
		return
	}
	for i := range max(len(live), len(desired)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(desired):
			w.addValues(item, at, live[i], nil)
		case i >= len(live):
			w.addValues(item, at, nil, desired[i])
		default:
			w.unsatisfied(item, at, live[i], desired[i])
		}
	}
}

func (w *walk) unsatisfiedMerged(item shape, rule mergeRule, path string, live, desired []any) {
	places := placesOf(rule, live)
	last, moved := -1, false
	for _, d := range desired {
		label := rule.label(d)
		at := path + "[" + label + "]"
		if len(places[label]) == 0 {
			w.addValues(item, at, nil, d)
			continue
		}
		place := places[label][0]
		if rule.kind == keyed {
			places[label] = places[label][1:]
			moved = moved || place < last
			last = max(last, place)
		}
		w.unsatisfied(item, at, live[place], d)
	}
	if moved {
		w.add(path)
	}
}
