package delta

import (
	"slices"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/paths"
)

// An Edit sets the value at a path; nil removes the value.
type Edit struct {
	Path  []string
	Value canon.Raw
}

// Edited returns obj with edits, for the functions of this package and of canon. Its methods are those
// of obj and ignore the edits. An edit inside an item that a list does not have is ignored.
func Edited(obj canon.Object, edits ...Edit) canon.Object {
	if len(edits) == 0 {
		return obj
	}
	return canon.Edited(obj, func(top canon.Shape, form canon.Raw) (_ canon.Raw, err error) {
		for _, edit := range edits {
			if form, err = put(top, form, edit.Path, edit.Value); err != nil {
				return nil, err
			}
		}
		return form, nil
	})
}

// put returns value, whose shape is s, with the value at the end of a path replaced by to, or removed if
// to is nil. A list that becomes empty is removed, and so is a value for which empty and absent are the
// same.
func put(s canon.Shape, value canon.Raw, steps []string, to canon.Raw) (canon.Raw, error) {
	if len(steps) == 0 {
		return to, nil
	}
	inner, old, err := enter(s, value, steps[0], nil)
	if err != nil || old == nil && to == nil {
		return value, err
	}
	changed, err := put(inner, old, steps[1:], to)
	if err != nil {
		return nil, err
	}
	if isListOf(s, value, steps[0]) {
		if old == nil && len(steps) > 1 {
			return value, nil
		}
		return putItem(s, value, steps[0], changed), nil
	}
	return putMember(s, value, steps[0], changed), nil
}

// isListOf reports whether value, which may be nil, is a list with the item that step names.
func isListOf(s canon.Shape, value canon.Raw, step string) bool {
	return value.IsList() || s.IsList() || value == nil && s.IsUnknown() && len(paths.Keys(step)) > 0
}

// putMember replaces, adds or removes a member. It returns nil if no member is left where empty and absent are the same.
func putMember(s canon.Shape, value canon.Raw, name string, member canon.Raw) canon.Raw {
	changed := value.With(name, member)
	if string(changed) == "{}" && s.IsAlwaysThere() {
		return nil
	}
	return changed
}

// putItem replaces the item with the name step, appends it, or removes it. It returns nil if no item is
// left.
func putItem(s canon.Shape, list canon.Raw, step string, item canon.Raw) canon.Raw {
	_, rule := s.Items()
	items := list.AppendItems(nil)
	at := slices.IndexFunc(items, func(item canon.Raw) bool { return isItem(rule, item, step) })
	switch {
	case at < 0:
		items = append(items, item)
	case item != nil:
		items[at] = item
	default:
		items = append(items[:at], items[at+1:]...)
	}
	if len(items) == 0 {
		return nil
	}
	return canon.ListOf(items)
}
