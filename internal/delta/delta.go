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
	"github.com/trueup-go/trueup/internal/managedfields"
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
//
// owned are the fields that a manager has applied to one of the objects. They tell how the API server
// merges the lists of which a Go type says nothing, such as those of custom kinds.
func Diff(before, after canon.Object, owned managedfields.Owned) []Change {
	return compare(before, after, owned, false)
}

// Satisfies reports whether live has every value that desired specifies: labels, annotations, owner
// references, finalizers and the content, never the status. It is false if the two have different Go
// types, or if a value has no canonical form.
//
// Maps of live may have more keys. Lists with a merge key may have more items: for each item of
// desired, live needs an item with the same key that satisfies the item, in the order of desired. Sets
// may have more members. Other lists match item by item and in length. Absence satisfies an empty list,
// and an empty map of a typed object or of owned: the API server drops some, and whoever removes one
// takes it from its owner.
//
// Satisfies finds every changed and every removed value. It overlooks additions inside parts that the
// API server replaces as a whole, such as a selector. owned, the fields of live that the applies of
// desired own, tell which lists of unstructured and custom objects the server merges; any other is such
// a part.
func Satisfies(live, desired canon.Object, owned managedfields.Owned) bool {
	return len(Unsatisfied(live, desired, owned)) == 0
}

// Unsatisfied returns the places where live does not satisfy desired, in the sense of Satisfies, or
// nil. Old is the value of live, and New the value of desired.
func Unsatisfied(live, desired canon.Object, owned managedfields.Owned) []Change {
	return compare(live, desired, owned, true)
}

func compare(before, after canon.Object, owned managedfields.Owned, isPartial bool) []Change {
	c := comparisons.Get().(*comparison)
	defer c.release()
	_, old, errOld := canon.Form(c.before[:0], before, isPartial)
	top, updated, errNew := canon.Form(c.after[:0], after, isPartial)
	if errOld != nil || errNew != nil || !canon.SameType(before, after) {
		return []Change{{}}
	}
	c.before, c.after, c.owned, c.isPartial = old, updated, owned, isPartial
	c.at.Begin(top)
	c.values(old, updated)
	return c.found
}

// A comparison collects the differences of two values.
type comparison struct {
	isPartial     bool // values that after does not specify do not count
	before, after []byte
	owned         managedfields.Owned
	at            canon.Trail
	found         []Change
}

var comparisons = sync.Pool{New: func() any { return &comparison{before: []byte{}, after: []byte{}} }}

// maxKept is the size, in bytes, of the largest buffer that is kept.
const maxKept = 64 << 10

// release keeps the buffers for another comparison.
func (c *comparison) release() {
	c.at.End()
	c.owned = managedfields.Owned{}
	if c.found = nil; cap(c.before) <= maxKept && cap(c.after) <= maxKept {
		comparisons.Put(c)
	}
}

// add adds a difference at the place where the comparison is.
func (c *comparison) add(before, after canon.Raw) {
	shape := c.at.Shape()
	c.found = append(c.found, Change{Path: c.at.Path(), Old: shape.Shown(before), New: shape.Shown(after)})
}

func (c *comparison) values(before, after canon.Raw) {
	switch {
	case bytes.Equal(before, after):
	case before.IsObject() && after.IsObject():
		c.members(before, after)
	case before.IsList() && after.IsList():
		c.items(before, after)
	default:
		c.add(before, after)
	}
}

func (c *comparison) members(before, after canon.Raw) {
	b, a := before.Members(), after.Members()
	inBefore, inAfter := b.Next(), a.Next()
	for inAfter || inBefore {
		order := bytes.Compare(b.Name, a.Name)
		switch {
		case inBefore && inAfter && order == 0:
			c.member(a.Name, b.Value, a.Value)
			inBefore, inAfter = b.Next(), a.Next()
		case !inAfter || inBefore && order < 0:
			if !c.isPartial {
				c.lacking(b.Name, b.Value, nil)
			}
			inBefore = b.Next()
		default:
			c.lacking(a.Name, nil, a.Value)
			inAfter = a.Next()
		}
	}
}

func (c *comparison) member(name []byte, before, after canon.Raw) {
	if !bytes.Equal(before, after) {
		c.at.EnterMember(name)
		c.values(before, after)
		c.at.Leave()
	}
}

// lacking compares a member that one side lacks.
func (c *comparison) lacking(name []byte, before, after canon.Raw) {
	isOfMap, found := c.at.Shape().IsMap(), len(c.found)
	c.at.EnterMember(name)
	defer c.at.Leave()
	isEmpty := c.isPartial && !isOfMap && string(after) == "[]" // a key of a map has to be there
	if c.at.Shape().IsAlwaysThere() && (before.IsObject() || after.IsObject()) {
		c.values(orEmpty(before), orEmpty(after))
		isEmpty = c.isPartial
	}
	if len(c.found) == found && !isEmpty && !c.isDropped(after) {
		c.add(before, after)
	}
}

// isDropped reports whether the API server drops an empty map: the manager that applied the map still owns it.
func (c *comparison) isDropped(after canon.Raw) bool {
	return c.isPartial && string(after) == "{}" && c.owned.OwnsAt(c.at.Steps())
}

var empty = canon.Raw("{}")

func orEmpty(r canon.Raw) canon.Raw {
	if r == nil {
		return empty
	}
	return r
}

func (c *comparison) items(before, after canon.Raw) {
	var spaceBefore, spaceAfter [canon.FewItems]canon.Raw
	b, a := before.AppendItems(spaceBefore[:0]), after.AppendItems(spaceAfter[:0])
	rule := c.ruleOf(b, a)
	if rule.Kind != canon.Atomic {
		c.mergedItems(rule, b, a)
		return
	}
	for i := range max(len(b), len(a)) {
		c.at.EnterItem(rule, nil, i)
		switch {
		case i >= len(a):
			c.add(b[i], nil)
		case i >= len(b):
			c.add(nil, a[i])
		default:
			c.values(b[i], a[i])
		}
		c.at.Leave()
	}
}

// ruleOf returns how the items of the list at the place are matched.
func (c *comparison) ruleOf(before, after []canon.Raw) *canon.MergeRule {
	_, rule := c.at.Shape().Items()
	if rule.Kind != canon.Atomic {
		return rule
	}
	if found := c.owned.MergeRule(c.at.Steps()); found != nil && found.Names(before) && found.Names(after) {
		return found
	}
	return rule
}

// mergedItems matches items by their names, the nth of one name with the nth. A member of a set that
// after has twice may be in before once.
func (c *comparison) mergedItems(rule *canon.MergeRule, before, after []canon.Raw) {
	var space [canon.FewItems]bool
	items := canon.NewMatcher(rule, before, space[:0])
	isOrdered := rule.Kind == canon.Keyed || !c.isPartial
	last, moved := -1, false
	for i, a := range after {
		c.at.EnterItem(rule, a, i)
		switch place := items.Find(a); {
		case place < 0:
			c.add(nil, a)
		default:
			if isOrdered {
				items.Take(place)
				moved = moved || place < last
				last = max(last, place)
			}
			c.values(before[place], a)
		}
		c.at.Leave()
	}
	for i, b := range before {
		if !c.isPartial && !items.IsTaken(i) {
			c.at.EnterItem(rule, b, i)
			c.add(b, nil)
			c.at.Leave()
		}
	}
	if moved {
		c.found = append(c.found, Change{Path: c.at.Path()})
	}
}
