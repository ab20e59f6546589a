package obstacle

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// HasEmptyLists reports whether desired has a list that is empty. In a Trial, such a list stays. The API server removes it with its
// last item if nobody owns the empty list.
func (m *Merge) HasEmptyLists() bool { return len(EmptyLists(m.desired, m.owned)) > 0 }

// EmptyLists returns the empty lists in desired. Those in items of other lists are found if owned, the fields that
// anybody owns, tell how the items are told apart.
func EmptyLists(desired map[string]any, owned *fieldpath.Set) []fieldpath.Path {
	var found []fieldpath.Path
	var visit func(value any, path fieldpath.Path, owned *fieldpath.Set)
	visit = func(value any, path fieldpath.Path, owned *fieldpath.Set) {
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				element := fieldpath.FieldNameElement(name)
				visit(value[name], append(path.Copy(), element), owned.WithPrefix(element))
			}
		case []any:
			if len(value) == 0 {
				found = append(found, path)
			}
			if name := naming(owned); name != nil {
				for i, element := range elements(value, name) {
					visit(value[i], append(path.Copy(), element), owned.WithPrefix(element))
				}
			}
		}
	}
	visit(desired, nil, owned)
	return found
}
