// Package delta compares objects: it returns the differences between two of them, and reports whether a
// live object has every value that a desired one specifies. The package also finds and edits single
// values of an object by their paths.
//
// The package compares the canonical forms of package canon: objects with the same form do not differ.
package delta

import (
	"bytes"
	"sync"

	"github.com/trueup-go/trueup/internal/canon"
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
	t := buffers.Get().(*texts)
	defer t.release()
	_, old, errOld := canon.Form(t.before[:0], before, isPartial)
	top, updated, errNew := canon.Form(t.after[:0], after, isPartial)
	if errOld != nil || errNew != nil || !canon.SameType(before, after) {
		return []Change{{}}
	}
	t.before, t.after = old, updated
	c := &comparison{isPartial: isPartial}
	c.values(&canon.Node{Shape: top}, old, updated)
	return c.found
}

// texts are the buffers of a comparison.
type texts struct{ before, after []byte }

var buffers = sync.Pool{New: func() any { return new(texts) }}

// maxKept is the size, in bytes, of the largest buffer that is kept.
const maxKept = 64 << 10

func (t *texts) release() {
	if cap(t.before) <= maxKept && cap(t.after) <= maxKept {
		buffers.Put(t)
	}
}

// A comparison collects the differences of two values.
type comparison struct {
	isPartial bool // values that after does not specify do not count
	found     []Change
}

func (c *comparison) add(at *canon.Node, before, after canon.Raw) {
	c.found = append(c.found, Change{Path: at.Path(), Old: at.Shown(before), New: at.Shown(after)})
}

func (c *comparison) values(at *canon.Node, before, after canon.Raw) {
	switch {
	case bytes.Equal(before, after):
	case before.IsObject() && after.IsObject():
		c.members(at, before, after)
	case before.IsList() && after.IsList():
		c.items(at, before, after)
	default:
		c.add(at, before, after)
	}
}

func (c *comparison) members(at *canon.Node, before, after canon.Raw) {
	b, a := before.Members(), after.Members()
	inBefore, inAfter := b.Next(), a.Next()
	for inAfter || inBefore {
		order := bytes.Compare(b.Name, a.Name)
		switch {
		case inBefore && inAfter && order == 0:
			inner := at.Member(a.Name)
			c.values(&inner, b.Value, a.Value)
			inBefore, inAfter = b.Next(), a.Next()
		case !inAfter || inBefore && order < 0:
			if !c.isPartial {
				c.lacking(at, b.Name, b.Value, nil)
			}
			inBefore = b.Next()
		default:
			c.lacking(at, a.Name, nil, a.Value)
			inAfter = a.Next()
		}
	}
}

// lacking compares a member that one side lacks.
func (c *comparison) lacking(at *canon.Node, name []byte, before, after canon.Raw) {
	inner, found := at.Member(name), len(c.found)
	isEmpty := c.isPartial && !at.IsMap() && string(after) == "[]" // a key of a map has to be there
	if inner.IsAlwaysThere() && (before.IsObject() || after.IsObject()) {
		c.values(&inner, orEmpty(before), orEmpty(after))
		isEmpty = c.isPartial
	}
	if len(c.found) == found && !isEmpty {
		c.add(&inner, before, after)
	}
}

func orEmpty(r canon.Raw) canon.Raw {
	if r == nil {
		return canon.Raw("{}")
	}
	return r
}

func (c *comparison) items(at *canon.Node, before, after canon.Raw) {
	var spaceBefore, spaceAfter [16]canon.Raw
	b, a := before.AppendItems(spaceBefore[:0]), after.AppendItems(spaceAfter[:0])
	if _, rule := at.Items(); rule.Kind != canon.Atomic {
		c.mergedItems(at, rule, b, a)
		return
	}
	for i := range max(len(b), len(a)) {
		here := at.Item(nil, i)
		switch {
		case i >= len(a):
			c.add(&here, b[i], nil)
		case i >= len(b):
			c.add(&here, nil, a[i])
		default:
			c.values(&here, b[i], a[i])
		}
	}
}

// mergedItems matches items by their names, the nth of one name with the nth. A member of a set that
// after has twice may be in before once.
func (c *comparison) mergedItems(at *canon.Node, rule *canon.MergeRule, before, after []canon.Raw) {
	var space [16]bool
	items := canon.NewMatcher(rule, before, space[:0])
	isOrdered := rule.Kind == canon.Keyed || !c.isPartial
	last, moved := -1, false
	for _, a := range after {
		here, place := at.Item(a, 0), items.Find(a)
		if place < 0 {
			c.add(&here, nil, a)
			continue
		}
		if isOrdered {
			items.Take(place)
			moved = moved || place < last
			last = max(last, place)
		}
		c.values(&here, before[place], a)
	}
	for i, b := range before {
		if !c.isPartial && !items.IsTaken(i) {
			here := at.Item(b, 0)
			c.add(&here, b, nil)
		}
	}
	if moved {
		c.found = append(c.found, Change{Path: at.Path()})
	}
}
