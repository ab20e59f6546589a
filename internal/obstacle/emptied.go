package obstacle

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/managedfields"
)

// LosesEmptyLists reports whether the apply removes a list that desired has empty. Nobody owns an empty list with keys,
// or an empty set: the API server removes the list with its last item, and a struct with its last field that is owned.
func (m *Merge) LosesEmptyLists() bool {
	return slices.ContainsFunc(EmptyLists(m.desired, m.owned), func(path fieldpath.Path) bool {
		for end := range path {
			if m.loses(path[:end+1]) {
				return true
			}
		}
		return false
	})
}

// loses reports whether the apply removes the value at path, as the field owner has applied something there, owns
// nothing there afterwards, and others own nothing.
func (m *Merge) loses(path fieldpath.Path) bool {
	last := len(path) - 1
	value, _, _ := lookup(m.desired, path)
	isOurs := m.isOwned(path, (*entry).isOwn) && !m.isOwned(path, (*entry).isAnothers)
	return isOurs && isBare(value, managedfields.Below(m.owned, path[:last]), path[last])
}

// isBare reports whether value, a member of a struct of which owned are the fields, is an empty list that is not
// written as a whole, or a struct with nothing else.
func isBare(value any, owned *fieldpath.Set, member fieldpath.PathElement) bool {
	below := owned.WithPrefix(member)
	switch value := value.(type) {
	case []any:
		return len(value) == 0 && (!owned.Members.Has(member) || !below.Empty())
	case map[string]any:
		for name, inner := range value {
			if !isBare(inner, below, fieldpath.FieldNameElement(name)) {
				return false
			}
		}
		return len(value) > 0
	}
	return false
}

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

// Lookup returns the value at path in a JSON object, and the JSON pointer that leads to it.
func Lookup(object map[string]any, path fieldpath.Path) (value any, pointer string, ok bool) {
	return lookup(object, path)
}
