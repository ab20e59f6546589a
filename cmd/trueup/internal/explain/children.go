package explain

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// A child is a member of a map or an item of a list.
type child struct {
	element fieldpath.PathElement
	value   any
}

// children returns the parts of a value. There are none of a scalar, or of a list that the API server
// replaces as a whole. The managed fields at this place, fields, show the keys of the items of a list.
func children(parent any, fields *fieldpath.Set) (parts []child, ok bool) {
	switch parent := parent.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(parent)) {
			parts = append(parts, child{fieldpath.FieldNameElement(name), parent[name]})
		}
		return parts, true
	case []any:
		return items(parent, fields)
	}
	return nil, false
}

func items(list []any, fields *fieldpath.Set) (parts []child, ok bool) {
	example, found := itemIn(fields)
	if !found {
		return nil, false
	}
	for _, item := range list {
		element := elementLike(example, item)
		if slices.ContainsFunc(parts, func(part child) bool { return part.element.Equals(element) }) {
			return nil, false // two items with the same key
		}
		parts = append(parts, child{element, item})
	}
	return parts, true
}

// itemIn returns an element of fields that names an item of a list, by a key or a value.
func itemIn(fields *fieldpath.Set) (fieldpath.PathElement, bool) {
	for element := range fields.Members.All() {
		if element.Key != nil || element.Value != nil {
			return element, true
		}
	}
	for element := range fields.Children.All() {
		if element.Key != nil {
			return element, true
		}
	}
	return fieldpath.PathElement{}, false
}

// elementLike returns the element of an item of the same list as the one that example names.
func elementLike(example fieldpath.PathElement, item any) fieldpath.PathElement {
	members, isObject := item.(map[string]any)
	if example.Value != nil || !isObject {
		return fieldpath.ValueElement(value.NewValueInterface(item))
	}
	var key []value.Field
	for _, name := range keyNames(example) {
		if member, found := members[name]; found {
			key = append(key, value.Field{Name: name, Value: value.NewValueInterface(member)})
		}
	}
	return fieldpath.KeyElement(key...)
}
