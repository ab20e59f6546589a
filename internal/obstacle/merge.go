package obstacle

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// A Merge is one of desired into live, by a server-side apply of one field owner.
type Merge struct {
	live, desired map[string]any
	entries       []entry // those with content in the main resource, or of a subresource
	owned         *fieldpath.Set
	protected     []fieldpath.Path
}

// An entry is one of live's managed fields.
type entry struct {
	*metav1.ManagedFieldsEntry
	fields *fieldpath.Set
	own    bool // the applies of the field owner
}

// isFixed reports whether nothing may be removed from an entry: another program applies the fields, or
// writes them through a subresource, and would do so again.
func (e *entry) isFixed() bool {
	return e.Subresource != "" || e.Operation == metav1.ManagedFieldsOperationApply && !e.own
}

func (e *entry) isOwn() bool { return e.own }

// isAnothers reports whether somebody else owns the fields. Fields without an owner are nobody's.
func (e *entry) isAnothers() bool { return !e.own && e.Manager != "" }

func (e *entry) isTakeable() bool { return !e.isFixed() && !e.own }

// Of returns the merge of desired, as applied by fieldOwner, into live, the object on the server. all are the fields of its content:
// those without an owner, such as defaults, may be removed, and have no manager. Of changes desired; see CompleteKeys.
func Of(live, desired *unstructured.Unstructured, fieldOwner string, all *fieldpath.Set) *Merge {
	m := &Merge{live: live.Object, desired: desired.Object, owned: fieldpath.NewSet(metadataLists...)}
	managed := managedfields.Entries(live)
	for i := range managed {
		e := entry{ManagedFieldsEntry: &managed[i], fields: managedfields.Fields(&managed[i])}
		e.own = e.Manager == fieldOwner && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
		m.entries = append(m.entries, e)
		m.owned = m.owned.Union(e.fields)
	}
	nobodys := &metav1.ManagedFieldsEntry{Operation: metav1.ManagedFieldsOperationUpdate}
	m.entries = append(m.entries, entry{ManagedFieldsEntry: nobodys, fields: all.Difference(m.owned)})
	m.owned = m.owned.Union(all)
	m.CompleteKeys()
	m.protectDuplicates()
	return m
}

// HasOwners reports whether anybody owns fields of the main resource.
func (m *Merge) HasOwners() bool {
	return slices.ContainsFunc(m.entries, func(e entry) bool { return e.Subresource == "" && e.Manager != "" })
}

// Dropped returns the fields and whole list items that the apply removes because desired does not
// specify them any more.
func (m *Merge) Dropped() []Obstacle {
	var found []Obstacle
	for _, own := range m.entries {
		if !own.own {
			continue
		}
		own.fields.Leaves().Iterate(func(path fieldpath.Path) {
			if !m.isDropped(path) {
				return
			}
			item := m.outermost(path, func(outer fieldpath.Path) bool {
				return outer[len(outer)-1].FieldName == nil && own.fields.Has(outer) && m.isDropped(outer)
			})
			if item != nil {
				path = item
			}
			found = m.appendDropped(found, path.Copy())
		})
	}
	return found
}

func (m *Merge) appendDropped(found []Obstacle, path fieldpath.Path) []Obstacle {
	if slices.ContainsFunc(found, func(o Obstacle) bool { return o.Path.Equals(path) }) {
		return found
	}
	o, _ := m.obstacle(path, (*entry).isOwn)
	return append(found, o)
}

// metadataLists tell how the items of lists in the metadata are told apart, also if nobody owns
// any.
var metadataLists = []fieldpath.Path{
	fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", "")),
	fieldpath.MakePathOrDie("metadata", "finalizers", fieldpath.ValueElement(value.NewValueInterface(""))),
}

// Trial returns a JSON patch that changes live as the server would if the obstacles were removed and
// desired were applied.
func (m *Merge) Trial(without []Obstacle) []jsonpatch.Operation {
	return m.patchTo(m.merged(without, m.dropped()))
}

// TrialWithDropped is a Trial in which the fields and list items stay that desired does not have any
// more. If the server takes this one, an obstacle is only in the way of their removal.
func (m *Merge) TrialWithDropped(without []Obstacle) []jsonpatch.Operation {
	return m.patchTo(m.merged(without, nil))
}

// IsBesideDropped reports whether the apply removes content, but none of the same field or item as the
// obstacle.
func (m *Merge) IsBesideDropped(o Obstacle) bool {
	whole := m.outermost(o.Path, func(path fieldpath.Path) bool { return !specifies(m.desired, path) })
	dropped := slices.DeleteFunc(m.dropped(), func(path fieldpath.Path) bool {
		return managedfields.IsAt(path, []string{"metadata"}) || managedfields.IsAt(path, []string{"status"})
	})
	return len(dropped) > 0 && !slices.ContainsFunc(dropped, func(path fieldpath.Path) bool {
		return managedfields.HasPrefix(path, whole)
	})
}

// patchTo returns a JSON patch that makes merged of live.
func (m *Merge) patchTo(merged map[string]any) []jsonpatch.Operation {
	var operations []jsonpatch.Operation
	change := func(pointer, name string, before, after map[string]any) {
		b, isThere := before[name]
		a, stays := after[name]
		switch at := jsonpatch.Join(pointer, name); {
		case stays && !reflect.DeepEqual(b, a):
			operations = append(operations, jsonpatch.Add(at, a)) // or replace
		case isThere && !stays:
			operations = append(operations, jsonpatch.Remove(at))
		}
	}
	for _, name := range memberNames(m.live, merged) {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
		default:
			change("", name, m.live, merged)
		}
	}
	before, _ := m.live["metadata"].(map[string]any)
	after, _ := merged["metadata"].(map[string]any)
	for _, name := range []string{"annotations", "finalizers", "labels", "ownerReferences"} {
		change("/metadata", name, before, after)
	}
	return operations
}

// merged returns live without obstacles and without the dropped fields, and with desired. The items of a list that is not written
// as a whole are in live's order, and new ones come last. The server has another order of its own.
func (m *Merge) merged(without []Obstacle, dropped []fieldpath.Path) map[string]any {
	rest := runtime.DeepCopyJSON(m.live)
	for _, path := range dropped {
		remove(rest, m.removedWith(path))
	}
	for _, o := range without {
		remove(rest, o.Path)
	}
	merged, _ := overlay(rest, runtime.DeepCopyJSON(m.desired), m.owned).(map[string]any)
	return merged
}

// dropped returns the fields that only the field owner has applied, and that desired does
// not specify any more.
func (m *Merge) dropped() []fieldpath.Path {
	var dropped []fieldpath.Path
	for _, own := range m.entries {
		if !own.own {
			continue
		}
		own.fields.Iterate(func(path fieldpath.Path) {
			if m.isDropped(path) && !isKeyMember(path) {
				dropped = append(dropped, path.Copy())
			}
		})
	}
	return dropped
}

// isKeyMember reports whether path leads to a member of the key of an item, which goes with the item only.
func isKeyMember(path fieldpath.Path) bool {
	last := len(path) - 1
	return last > 0 && path[last].FieldName != nil && path[last-1].Key != nil &&
		slices.ContainsFunc(*path[last-1].Key, func(field value.Field) bool { return field.Name == *path[last].FieldName })
}

// removedWith returns the outermost struct, map or list of which the dropped field is the last applied
// field. The server removes that parent as a whole, with fields that nobody owns.
func (m *Merge) removedWith(path fieldpath.Path) fieldpath.Path {
	outermost := m.outermost(path, func(outer fieldpath.Path) bool {
		return outer[len(outer)-1].FieldName != nil && m.isDropped(outer)
	})
	if outermost == nil {
		return path
	}
	return outermost
}

// isDropped reports whether the apply removes the field at path, which the field owner has applied. A field
// stays if somebody else owns it, or a field inside. An item of a list stays only if somebody else owns the item
// itself, and so does a member of the key of an item. Defaults keep nothing.
func (m *Merge) isDropped(path fieldpath.Path) bool {
	switch isItem := path[len(path)-1].FieldName == nil; {
	case specifies(m.desired, path):
		return false
	case isItem:
		return !slices.ContainsFunc(m.entries, func(e entry) bool { return e.isAnothers() && e.fields.Has(path) })
	case isKeyMember(path):
		return m.isDropped(path[:len(path)-1])
	}
	return !m.isOwned(path, (*entry).isAnothers)
}

// overlay returns live with desired's values. owned are the fields below this place that
// anybody owns: they tell lists with keys, and maps that are written as a whole.
func overlay(live, desired any, owned *fieldpath.Set) any {
	switch d := desired.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			return overlayMembers(l, d, owned)
		}
	case []any:
		if l, ok := live.([]any); ok {
			return overlayItems(l, d, owned)
		}
	}
	return desired
}

func overlayMembers(live, desired map[string]any, owned *fieldpath.Set) map[string]any {
	for name, d := range desired {
		l, ok := live[name]
		element := fieldpath.FieldNameElement(name)
		below := owned.WithPrefix(element)
		if !ok || owned.Members.Has(element) && below.Empty() { // owned as a whole
			live[name] = d
			continue
		}
		live[name] = overlay(l, d, below)
	}
	return live
}

func overlayItems(live, desired []any, owned *fieldpath.Set) any {
	name := naming(owned)
	if name == nil {
		return desired
	}
	before, named := elements(live, name), elements(desired, name)
	isOne := func(element fieldpath.PathElement) bool { return count(before, element) == 1 }
	merged := []any{}
	for i, element := range before {
		if at := slices.IndexFunc(named, element.Equals); at < 0 {
			merged = append(merged, live[i])
		} else if isOne(element) {
			merged = append(merged, overlay(live[i], desired[at], owned.WithPrefix(element)))
		}
	}
	for i, element := range named {
		if !isOne(element) { // the item is new, or there is a duplicate, with which the server does not merge
			merged = append(merged, desired[i])
		}
	}
	return merged
}

// naming returns how the items of a list are told apart, nil if they are not.
func naming(owned *fieldpath.Set) func(item any) fieldpath.PathElement {
	for _, element := range firstElements(owned) {
		switch {
		case element.Key != nil:
			return func(item any) fieldpath.PathElement {
				key := make(value.FieldList, 0, len(*element.Key))
				for _, field := range *element.Key {
					members, _ := item.(map[string]any)
					key = append(key, value.Field{Name: field.Name, Value: value.NewValueInterface(members[field.Name])})
				}
				return fieldpath.PathElement{Key: &key}
			}
		case element.Value != nil:
			return func(item any) fieldpath.PathElement { return fieldpath.ValueElement(value.NewValueInterface(item)) }
		}
	}
	return nil
}

// firstElements returns the first elements of the paths in a set.
func firstElements(set *fieldpath.Set) []fieldpath.PathElement {
	found := slices.Collect(set.Members.All())
	set.Children.Iterate(func(element fieldpath.PathElement) { found = append(found, element) })
	return found
}

func elements(items []any, name func(any) fieldpath.PathElement) []fieldpath.PathElement {
	named := make([]fieldpath.PathElement, len(items))
	for i, item := range items {
		named[i] = name(item)
	}
	return named
}

func memberNames(objects ...map[string]any) []string {
	var names []string
	for _, object := range objects {
		names = slices.AppendSeq(names, maps.Keys(object))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func count(elements []fieldpath.PathElement, element fieldpath.PathElement) int {
	n := 0
	for _, e := range elements {
		if e.Equals(element) {
			n++
		}
	}
	return n
}
