package canon

import (
	"reflect"
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
func Satisfies(live, desired Object) bool {
	l, d, ok := readBoth(live, desired)
	if ok && len(d.edits) > 0 {
		return len(changes(live, desired, specified, (*walk).unsatisfied)) == 0
	}
	c := &comparison{}
	return ok && c.metadata(&l, &d) && c.content(&l, &d)
}

// MetadataSatisfies is Satisfies for the labels, annotations, owner references
// and finalizers alone.
func MetadataSatisfies(live, desired Object) bool {
	l, d, ok := readBoth(live, desired)
	c := &comparison{}
	return ok && c.metadata(&l, &d)
}

// readBoth reads two objects; false if they cannot be compared.
func readBoth(a, b Object) (x, y content, ok bool) {
	x, errX := read(a)
	y, errY := read(b)
	if errX != nil || errY != nil || reflect.TypeOf(x.object) != reflect.TypeOf(y.object) {
		return x, y, false
	}
	return x, y, true
}

// comparison is the state of one walk through two values.
type comparison struct {
	depth     int
	isBuiltIn bool // as that of an encoder
}

func (c *comparison) enter() bool {
	c.depth++
	return c.depth <= maxDepth
}

func (c *comparison) leave() { c.depth-- }

func (c *comparison) content(live, desired *content) bool {
	c.isBuiltIn = desired.members != nil && desired.isBuiltIn()
	if desired.members != nil {
		for name, d := range desired.members {
			if !reserved(name) && !c.member(live.members, name, d) {
				return false
			}
		}
		return true
	}
	fields := desired.plan.fields
	for i := range fields {
		if !reserved(fields[i].name) && !c.fields(fields[i:i+1], live.typed, desired.typed) {
			return false
		}
	}
	return true
}

func (c *comparison) metadata(live, desired *content) bool {
	if desired.members != nil {
		l, errLive := live.metadata()
		d, errDesired := desired.metadata()
		return errLive == nil && errDesired == nil && c.anyMetadata(l, d)
	}
	l, d := live.object, desired.object
	plans := metadataPlans()
	return stringMapSatisfied(l.GetLabels(), d.GetLabels()) &&
		stringMapSatisfied(l.GetAnnotations(), d.GetAnnotations()) &&
		plans.owners.itemsSatisfied(c, itemsOf(l.GetOwnerReferences()), itemsOf(d.GetOwnerReferences())) &&
		plans.finalizers.itemsSatisfied(c, itemsOf(l.GetFinalizers()), itemsOf(d.GetFinalizers()))
}
