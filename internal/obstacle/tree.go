package obstacle

import (
	"maps"
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/jsonpatch"
)

// Lookup returns the value at path in a JSON value, and the JSON pointer that leads to it.
func Lookup(tree any, path fieldpath.Path) (found any, pointer string, ok bool) {
	for _, element := range path {
		switch parent := tree.(type) {
		case map[string]any:
			if element.FieldName == nil {
				return nil, "", false
			}
			if tree, ok = parent[*element.FieldName]; !ok {
				return nil, "", false
			}
			pointer = jsonpatch.Join(pointer, *element.FieldName)
		case []any:
			i := indexOf(parent, element)
			if i < 0 {
				return nil, "", false
			}
			tree, pointer = parent[i], pointer+"/"+strconv.Itoa(i)
		default:
			return nil, "", false
		}
	}
	return tree, pointer, true
}

// eachList calls do with each list in a tree, its path and the fields below that anybody owns. Lists in items of other lists are
// found if owned tells how the items are told apart.
func eachList(tree any, path fieldpath.Path, owned *fieldpath.Set, do func([]any, fieldpath.Path, *fieldpath.Set)) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			element := fieldpath.FieldNameElement(name)
			eachList(tree[name], append(path.Copy(), element), owned.WithPrefix(element), do)
		}
	case []any:
		do(tree, path, owned)
		if name := naming(owned); name != nil {
			for i, element := range elements(tree, name) {
				eachList(tree[i], append(path.Copy(), element), owned.WithPrefix(element), do)
			}
		}
	}
}

// remove removes the value at path from a JSON value that the caller owns, and returns the
// rest.
func remove(tree any, path fieldpath.Path) any {
	switch parent := tree.(type) {
	case map[string]any:
		name := path[0].FieldName
		if name == nil {
			return tree
		}
		if len(path) == 1 {
			delete(parent, *name)
		} else if inner, ok := parent[*name]; ok {
			parent[*name] = remove(inner, path[1:])
		}
	case []any:
		i := indexOf(parent, path[0])
		if i < 0 {
			return tree
		}
		if len(path) == 1 {
			return slices.Delete(parent, i, i+1)
		}
		parent[i] = remove(parent[i], path[1:])
	}
	return tree
}

// specifies reports whether desired has a value at path, or a value without parts at the
// beginning of it.
func specifies(desired any, path fieldpath.Path) bool {
	for _, element := range path {
		switch parent := desired.(type) {
		case map[string]any:
			if element.FieldName == nil {
				return true
			}
			member, ok := parent[*element.FieldName]
			if !ok {
				return false
			}
			desired = member
		case []any:
			i := indexOf(parent, element)
			if i < 0 {
				return false
			}
			desired = parent[i]
		default:
			return true
		}
	}
	return true
}

// indexOf returns the index of the item that element names, or -1.
func indexOf(items []any, element fieldpath.PathElement) int {
	switch {
	case element.Index != nil && *element.Index < len(items):
		return *element.Index
	case element.Value != nil:
		return slices.IndexFunc(items, func(item any) bool { return isValue(item, *element.Value) })
	case element.Key == nil:
		return -1
	}
	return slices.IndexFunc(items, func(item any) bool { return hasKey(item, *element.Key) })
}

func isValue(item any, wanted value.Value) bool {
	return value.Equals(value.NewValueInterface(item), wanted)
}

func hasKey(item any, key value.FieldList) bool {
	members, _ := item.(map[string]any)
	return !slices.ContainsFunc(key, func(field value.Field) bool {
		member, ok := members[field.Name]
		return !ok || !isValue(member, field.Value)
	})
}

// HasEmptyLists reports whether desired has a list that is empty. In a Trial, such a list stays. The API server removes it with its
// last item if nobody owns the empty list.
func (m *Merge) HasEmptyLists() bool { return len(EmptyLists(m.desired, m.owned)) > 0 }

// EmptyLists returns the empty lists in desired. Those in items of other lists are found if owned, the fields that
// anybody owns, tell how the items are told apart.
func EmptyLists(desired map[string]any, owned *fieldpath.Set) (found []fieldpath.Path) {
	eachList(desired, nil, owned, func(items []any, path fieldpath.Path, _ *fieldpath.Set) {
		if len(items) == 0 {
			found = append(found, path)
		}
	})
	return found
}
