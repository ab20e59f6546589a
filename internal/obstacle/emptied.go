package obstacle

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// An apply cannot empty a list with keys, or a set: the API server merges live's items with none, removes the items
// that desired has no longer, and the list with its last item.

// Emptied returns the lists that desired has empty, all of whose items only the field owner has applied.
func (m *Merge) Emptied() []Obstacle {
	var found []Obstacle
	for _, own := range m.entries {
		if !own.own {
			continue
		}
		for _, path := range EmptyLists(m.desired, own.fields) {
			o, _ := m.obstacle(path, (*entry).isOwn)
			if items, _ := o.Value.([]any); len(items) > 0 && m.dropsAll(items, path, own.fields) {
				found = append(found, o)
			}
		}
	}
	return found
}

// dropsAll reports whether the apply removes all items of the list at path, as own are the only ones who own them.
func (m *Merge) dropsAll(items []any, path fieldpath.Path, own *fieldpath.Set) bool {
	name := naming(at(own, path))
	return name != nil && !slices.ContainsFunc(items, func(item any) bool {
		itemPath := append(path.Copy(), name(item))
		return !own.Has(itemPath) || !m.isDropped(itemPath)
	})
}

// EmptyLists returns the empty lists in desired. Those in items of other lists are found if own, the fields that the
// field owner has applied, tell how the items are told apart.
func EmptyLists(desired map[string]any, own *fieldpath.Set) []fieldpath.Path {
	var found []fieldpath.Path
	var visit func(value any, path fieldpath.Path, own *fieldpath.Set)
	visit = func(value any, path fieldpath.Path, own *fieldpath.Set) {
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				element := fieldpath.FieldNameElement(name)
				visit(value[name], append(path.Copy(), element), own.WithPrefix(element))
			}
		case []any:
			if len(value) == 0 {
				found = append(found, path)
			}
			if name := naming(own); name != nil {
				for i, element := range elements(value, name) {
					visit(value[i], append(path.Copy(), element), own.WithPrefix(element))
				}
			}
		}
	}
	visit(desired, nil, own)
	return found
}

// at returns the fields below path.
func at(fields *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, element := range path {
		fields = fields.WithPrefix(element)
	}
	return fields
}
