package status

import (
	"reflect"
	"slices"
)

// A merger makes the change from before to after in what the server has, whatever that is.
type merger struct {
	show  show
	after map[string]any // all of the object
}

// member makes the change of one member of the objects before and after in stored.
func (m merger) member(key string, stored, before, after map[string]any) {
	old, had := before[key]
	value, has := after[key]
	switch {
	case had && has && reflect.DeepEqual(old, value):
	case has:
		stored[key] = m.value(key, stored[key], old, value)
	case !m.keepsUnknown(key, stored, old, after):
		delete(stored, key)
	}
}

// value returns stored with the change from old to value.
func (m merger) value(key string, stored, old, value any) any {
	object, isObject := value.(map[string]any)
	storedObject, isStored := stored.(map[string]any)
	oldObject, _ := old.(map[string]any)
	if isObject && isStored {
		m.object(storedObject, oldObject, object)
		return storedObject
	}
	list, _ := value.([]any)
	storedList, _ := stored.([]any)
	oldList, _ := old.([]any)
	if key == conditionsKey && areConditions(list) && areConditions(storedList) && areConditions(oldList) {
		return m.conditions(storedList, oldList, list)
	}
	return value
}

func (m merger) object(stored, before, after map[string]any) {
	for _, key := range keysOf(before, after) {
		m.member(key, stored, before, after)
	}
}

// keepsUnknown empties a struct that is not shown while it is empty, and reports whether
// something that the Go type does not know remains in it.
func (m merger) keepsUnknown(key string, stored map[string]any, old any, after map[string]any) bool {
	inner, _ := stored[key].(map[string]any)
	known, isObject := old.(map[string]any)
	if !isObject || inner == nil || m.show == nil || !m.show.omits(m.after, after, key) {
		return false
	}
	empty := map[string]any{}
	after[key] = empty // for the structs in this one
	m.object(inner, known, empty)
	delete(after, key)
	return len(inner) > 0
}

// conditions matches those of one type.
func (m merger) conditions(stored, before, after []any) []any {
	stored = slices.DeleteFunc(stored, func(condition any) bool {
		return indexOfType(before, typeOf(condition)) >= 0 && indexOfType(after, typeOf(condition)) < 0
	})
	for _, condition := range after {
		var old any
		if i := indexOfType(before, typeOf(condition)); i >= 0 {
			old = before[i]
		}
		switch i := indexOfType(stored, typeOf(condition)); {
		case reflect.DeepEqual(old, condition):
		case i < 0:
			stored = append(stored, condition)
		default:
			stored[i] = m.value("", stored[i], old, condition)
		}
	}
	return stored
}
