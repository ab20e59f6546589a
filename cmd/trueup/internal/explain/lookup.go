package explain

import (
	"encoding/json"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// lookup returns the value at path, and false if there is none.
func lookup(root any, path fieldpath.Path) (any, bool) {
	current := root
	for _, element := range path {
		next, found := enter(current, element)
		if !found {
			return nil, false
		}
		current = next
	}
	return current, true
}

func enter(current any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		members, _ := current.(map[string]any)
		member, found := members[*element.FieldName]
		return member, found
	}
	items, _ := current.([]any)
	at := slices.IndexFunc(items, func(item any) bool { return isItem(item, element) })
	if element.Index != nil {
		at = *element.Index
	}
	if at < 0 || at >= len(items) {
		return nil, false
	}
	return items[at], true
}

func isItem(item any, element fieldpath.PathElement) bool {
	switch {
	case element.Value != nil:
		return value.Equals(value.NewValueInterface(item), *element.Value)
	case element.Key == nil:
		return false
	}
	members, _ := item.(map[string]any)
	for _, field := range *element.Key {
		member, found := members[field.Name]
		if !found || !value.Equals(value.NewValueInterface(member), field.Value) {
			return false
		}
	}
	return true
}

// shown returns a value for JSON, where no value and null differ.
func shown(found any) any {
	if found == nil {
		return json.RawMessage("null")
	}
	return found
}
