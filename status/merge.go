package status

import (
	"reflect"
	"slices"
)

// A merger makes the change from before to after in the stored object, which can have fields
// that the Go type does not know.
type merger struct {
	roundTrip roundTrip
	after     map[string]any // the whole object
}

// mergeMember makes the change of one member in stored.
func (m merger) mergeMember(key string, stored, before, after map[string]any) {
	old, had := before[key]
	value, has := after[key]
	switch {
	case had && has && reflect.DeepEqual(old, value):
	case has:
		stored[key] = m.mergeValue(key, stored[key], old, value)
	case !m.removeKnown(key, stored, old, after):
		delete(stored, key)
	}
}

// mergeValue returns stored with the change from old to value.
func (m merger) mergeValue(key string, stored, old, value any) any {
	object, isObject := value.(map[string]any)
	storedObject, isStored := stored.(map[string]any)
	oldObject, _ := old.(map[string]any)
	if isObject && isStored {
		m.mergeObject(storedObject, oldObject, object)
		return storedObject
	}
	list, _ := value.([]any)
	storedList, _ := stored.([]any)
	oldList, _ := old.([]any)
	if key == conditionsKey && areConditions(list) && areConditions(storedList) && areConditions(oldList) {
		return m.mergeConditions(storedList, oldList, list)
	}
	return value
}

func (m merger) mergeObject(stored, before, after map[string]any) {
	for _, key := range keysOf(before, after) {
		m.mergeMember(key, stored, before, after)
	}
}

// removeKnown removes the known fields of a struct that the Go type omits when empty,
// and reports whether fields that the Go type does not know remain.
func (m merger) removeKnown(key string, stored map[string]any, old any, after map[string]any) bool {
	inner, _ := stored[key].(map[string]any)
	known, isObject := old.(map[string]any)
	if !isObject || inner == nil || m.roundTrip == nil || !m.roundTrip.omits(m.after, after, key) {
		return false
	}
	empty := map[string]any{}
	after[key] = empty // nested structs are looked up in after
	m.mergeObject(inner, known, empty)
	delete(after, key)
	return len(inner) > 0
}

// mergeConditions returns stored with the change of the conditions, matched by type.
func (m merger) mergeConditions(stored, before, after []any) []any {
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
			stored[i] = m.mergeValue("", stored[i], old, condition)
		}
	}
	return stored
}
