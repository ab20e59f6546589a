package canon

import (
	"reflect"
	"strings"
)

// mergeRule says how the items of two lists are matched.
type mergeRule struct {
	kind mergeKind
	keys []mergeKey
}

type mergeKind int

const (
	atomic mergeKind = iota // item by item, and as many
	keyed                   // by the values of the keys; live may hold more
	set                     // by value; live may hold more
)

// mergeKey is a member of a list's items that tells them apart.
type mergeKey struct {
	name     string
	location         // of the Go field in the item
	size     uintptr // of an integer; 0 for a string
	fallback string  // the default of the server
}

// companions are the keys that the API server's schema has in addition to the
// one in the struct tag patchMergeKey: 53/TCP and 53/UDP are two ports.
var companions = map[string]mergeKey{
	"port":          {name: "protocol", fallback: "TCP"},
	"containerPort": {name: "protocol", fallback: "TCP"},
	"topologyKey":   {name: "whenUnsatisfiable"},
}

// mergeList returns the first part of a plan for a field whose list the API server merges, or nil. The
// struct tags of API types mark such fields. The schema of a custom kind is not known here.
func mergeList(from *candidate) *listPlan {
	if !isAPI(from.declaredIn) || from.Type.Kind() != reflect.Slice || isBytes(from.Type) {
		return nil
	}
	if !strings.Contains(from.Tag.Get("patchStrategy"), "merge") {
		return nil
	}
	name := from.Tag.Get("patchMergeKey")
	if name == "" {
		return &listPlan{slice: true, size: from.Type.Elem().Size(), merge: mergeRule{kind: set}}
	}
	keys := appendKey(nil, from.Type.Elem(), mergeKey{name: name})
	if len(keys) == 0 {
		return nil
	}
	if companion, ok := companions[name]; ok {
		keys = appendKey(keys, from.Type.Elem(), companion)
	}
	return &listPlan{slice: true, size: from.Type.Elem().Size(), merge: mergeRule{kind: keyed, keys: keys}}
}

// appendKey appends key if item is a struct with such a member, of a kind that
// can be compared.
func appendKey(keys []mergeKey, item reflect.Type, key mergeKey) []mergeKey {
	if item.Kind() != reflect.Struct {
		return keys
	}
	for _, member := range jsonFields(item) {
		if member.name != key.name {
			continue
		}
		switch member.Type.Kind() {
		case reflect.String:
		case reflect.Int32, reflect.Int64, reflect.Int:
			key.size = member.Type.Size()
		default:
			continue
		}
		key.location = locate(item, member.path)
		return append(keys, key)
	}
	return keys
}

func (k *mergeKey) same(a, b place) bool {
	x, inA := k.in(a)
	y, inB := k.in(b)
	switch {
	case !inA || !inB:
		return inA == inB
	case k.size > 0:
		return x.int(k.size) == y.int(k.size)
	default:
		return sameText(k.text(*as[string](x)), k.text(*as[string](y)))
	}
}

func (k *mergeKey) text(s string) string {
	if s == "" {
		return k.fallback
	}
	return s
}

func (r *mergeRule) satisfied(c *comparison, elem plan, live, desired items) bool {
	switch r.kind {
	case keyed:
		return r.keyedSatisfied(c, elem, live, desired)
	case set:
		for i := range desired.length {
			if !holds(c, elem, live, desired.at(i)) {
				return false
			}
		}
		return true
	default:
		if live.length != desired.length {
			return false
		}
		for i := range desired.length {
			if !itemSatisfied(c, elem, live.at(i), desired.at(i)) {
				return false
			}
		}
		return true
	}
}

// keyedSatisfied reports whether, for each item of desired, live has an item with the same key that
// satisfies the item, after the one found before.
func (r *mergeRule) keyedSatisfied(c *comparison, elem plan, live, desired items) bool {
	next := 0
	for i := range desired.length {
		item := desired.at(i)
		for next < live.length && !(r.sameKey(live.at(next), item) && elem.satisfies(c, live.at(next), item)) {
			next++
		}
		if next == live.length {
			return false
		}
		next++
	}
	return true
}

func (r *mergeRule) sameKey(a, b place) bool {
	for i := range r.keys {
		if !r.keys[i].same(a, b) {
			return false
		}
	}
	return true
}

func holds(c *comparison, elem plan, live items, item place) bool {
	for i := range live.length {
		if itemSatisfied(c, elem, live.at(i), item) {
			return true
		}
	}
	return false
}

// itemSatisfied compares list items, where null is a value.
func itemSatisfied(c *comparison, elem plan, live, desired place) bool {
	if elem.null(desired) {
		return elem.null(live)
	}
	return elem.satisfies(c, live, desired)
}
