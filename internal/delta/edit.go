package delta

import (
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/paths"
)

// An Edit sets the value at a path to a JSON value; nil removes the value.
type Edit struct {
	Path  []string
	Value any
}

// Edited returns obj with edits, for the functions of this package and of canon. Its methods are those
// of obj and ignore the edits. An edit inside an item that a list does not have is ignored.
func Edited(obj canon.Object, edits ...Edit) canon.Object {
	if len(edits) == 0 {
		return obj
	}
	return canon.Edited(obj, func(top canon.Shape, members map[string]any) (map[string]any, error) {
		for _, edit := range edits {
			changed, err := put(top, members, edit.Path, edit.Value)
			if err != nil {
				return nil, err
			}
			members, _ = changed.(map[string]any) // nil if that was all
		}
		return members, nil
	})
}

// put returns value, whose shape is s, with the value at the end of a path replaced by to, or removed if
// to is nil. A list that becomes empty is removed, and so is a value for which empty and absent are the
// same.
func put(s canon.Shape, value any, steps []string, to any) (any, error) {
	if len(steps) == 0 {
		return to, nil
	}
	inner, old, err := enter(s, value, steps[0])
	if err != nil {
		return nil, err
	}
	if old == nil && to == nil {
		if members, ok := value.(map[string]any); ok && len(steps) == 1 {
			delete(members, steps[0]) // which is null
		}
		return value, nil
	}
	changed, err := put(inner, old, steps[1:], to)
	if err != nil {
		return nil, err
	}
	if isListOf(s, value, steps[0]) {
		items, _ := value.([]any)
		if old == nil && len(steps) > 1 {
			return value, nil
		}
		return putItem(s, items, steps[0], changed), nil
	}
	return putMember(s, value, steps[0], changed), nil
}

// isListOf reports whether value, which may be nil, is a list with the item that step names.
func isListOf(s canon.Shape, value any, step string) bool {
	_, ok := value.([]any)
	return ok || s.IsList() || value == nil && s.IsUnknown() && len(paths.Keys(step)) > 0
}

// putMember replaces, adds or removes a member. It returns nil if no member is left.
func putMember(s canon.Shape, value any, name string, member any) any {
	members, ok := value.(map[string]any)
	if !ok {
		members = map[string]any{}
	}
	if members[name] = member; member == nil {
		delete(members, name)
	}
	if len(members) == 0 && s.IsAlwaysThere() {
		return nil
	}
	return members
}

// putItem replaces the item with the name step, appends it, or removes it. It returns nil if no item is
// left.
func putItem(s canon.Shape, items []any, step string, item any) any {
	_, rule := s.Items()
	at, _ := indexOf(rule, items, step) // was found, or not, before
	switch {
	case at < 0:
		return append(items, item)
	case item != nil:
		items[at] = item
		return items
	}
	items = append(items[:at:at], items[at+1:]...)
	if len(items) == 0 {
		return nil
	}
	return items
}
