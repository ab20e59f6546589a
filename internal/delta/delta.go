// Package delta compares objects: it returns the differences between two of them, and reports whether a
// live object has every value that a desired one specifies. The package also finds and edits single
// values of an object by their paths.
//
// The package compares the canonical forms of package canon: objects with the same form do not differ.
package delta

import (
	"slices"
	"strconv"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/paths"
)

// Change is a place where two objects differ.
type Change struct {
	// Path has forms such as spec.template.spec.containers[name=app].image,
	// spec.ports[port=80,protocol=TCP].nodePort, metadata.labels[example.org/tier] and spec.args[2]. If
	// one side lacks a part, Path names the outermost part that can be absent: the target of a pointer,
	// a list, or a key of a map. Path is empty if the objects cannot be compared at all.
	Path string
	// Old and New are set for numbers (quantities included) and booleans only,
	// so that no secret can leak.
	Old, New string
}

// Diff returns the differences between the canonical forms of two objects, in their content, labels,
// annotations (including digests), owner references and finalizers: additions, removals, changed values
// and changed order. Items of lists with a merge key are matched by their keys.
func Diff(before, after canon.Object) []Change { return compare(before, after, false) }

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
func Satisfies(live, desired canon.Object) bool { return len(Unsatisfied(live, desired)) == 0 }

// Unsatisfied returns the places where live does not satisfy desired, in the sense of Satisfies, or
// nil. Old is the value of live, and New the value of desired.
func Unsatisfied(live, desired canon.Object) []Change { return compare(live, desired, true) }

func compare(before, after canon.Object, isPartial bool) []Change {
	_, old, errOld := canon.Tree(before, isPartial)
	top, updated, errNew := canon.Tree(after, isPartial)
	if errOld != nil || errNew != nil || !canon.SameType(before, after) {
		return []Change{{}}
	}
	c := &comparison{isPartial: isPartial}
	c.values(top, "", old, updated)
	return c.found
}

// A comparison collects the differences of two values.
type comparison struct {
	isPartial bool // values that after does not specify do not count
	found     []Change
}

func (c *comparison) add(s canon.Shape, at string, before, after any) {
	c.found = append(c.found, Change{Path: at, Old: s.Shown(before), New: s.Shown(after)})
}

func (c *comparison) values(s canon.Shape, at string, before, after any) {
	switch a := after.(type) {
	case map[string]any:
		if b, ok := before.(map[string]any); ok {
			c.members(s, at, b, a)
			return
		}
	case []any:
		if b, ok := before.([]any); ok {
			c.items(s, at, b, a)
			return
		}
	}
	if !isScalar(before) || !isScalar(after) || before != after {
		c.add(s, at, before, after)
	}
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func (c *comparison) members(s canon.Shape, at string, before, after map[string]any) {
	names := canon.SortedNames(after)
	if !c.isPartial {
		names = canon.SortedNames(before, after)
	}
	for _, name := range names {
		inner, innerAt := s.Member(at, name)
		b, inBefore := before[name]
		a, inAfter := after[name]
		if inBefore && inAfter {
			c.values(inner, innerAt, b, a)
			continue
		}
		found := len(c.found)
		isEmpty := c.isPartial && !s.IsMap() && isEmptyList(a) // a key of a map has to be there
		if inner.IsAlwaysThere() && (isObject(b) || isObject(a)) {
			c.values(inner, innerAt, orEmpty(b), orEmpty(a))
			isEmpty = c.isPartial
		}
		if len(c.found) == found && !isEmpty {
			c.add(inner, innerAt, b, a)
		}
	}
}

func isEmptyList(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

func (c *comparison) items(s canon.Shape, at string, before, after []any) {
	item, rule := s.Items()
	if rule.Kind != canon.Atomic {
		c.mergedItems(item, rule, at, before, after)
		return
	}
	for i := range max(len(before), len(after)) {
		itemAt := paths.Item(at, strconv.Itoa(i))
		switch {
		case i >= len(after):
			c.add(item, itemAt, before[i], nil)
		case i >= len(before):
			c.add(item, itemAt, nil, after[i])
		default:
			c.values(item, itemAt, before[i], after[i])
		}
	}
}

// mergedItems matches items by their names, the nth of one name with the nth. A member of a set that
// after has twice may be in before once.
func (c *comparison) mergedItems(item canon.Shape, rule canon.MergeRule, at string, before, after []any) {
	places := make(map[string][]int, len(before)) // where the items with each name are
	for i, b := range before {
		name := rule.Name(b)
		places[name] = append(places[name], i)
	}
	isOrdered := rule.Kind == canon.Keyed || !c.isPartial
	last, moved := -1, false
	for _, a := range after {
		name := rule.Name(a)
		itemAt := paths.Item(at, name)
		if len(places[name]) == 0 {
			c.add(item, itemAt, nil, a)
			continue
		}
		place := places[name][0]
		if isOrdered {
			places[name] = places[name][1:]
			moved = moved || place < last
			last = max(last, place)
		}
		c.values(item, itemAt, before[place], a)
	}
	for i, b := range before {
		if name := rule.Name(b); !c.isPartial && slices.Contains(places[name], i) {
			c.add(item, paths.Item(at, name), b, nil)
		}
	}
	if moved {
		c.found = append(c.found, Change{Path: at})
	}
}
