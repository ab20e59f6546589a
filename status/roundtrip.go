package status

import (
	"encoding/json"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A roundTrip decodes the JSON form of a stored object into a Go type and encodes it again:
// the result is the object as a client with that Go type sees it.
type roundTrip func(content map[string]any) (map[string]any, error)

// roundTripOf returns the roundTrip of obj's Go type; nil for unstructured objects, which have
// all stored fields.
func (w *writer) roundTripOf(obj client.Object) roundTrip {
	if isUnstructured(obj) {
		return nil
	}
	return func(content map[string]any) (map[string]any, error) {
		data, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		decoded := w.emptyLike(obj)
		if err := json.Unmarshal(data, decoded); err != nil {
			return nil, err
		}
		return w.encode(decoded)
	}
}

// mayBeAbsent reports whether a client sees the same status of content if object, a part of
// content, lacks the member key: the stored object may lack that member, too.
func (r roundTrip) mayBeAbsent(content, object map[string]any, key string) bool {
	member := object[key]
	return r.same(content, func() { delete(object, key) }, func() { object[key] = member })
}

// omits reports whether a client sees the same status of content if object, a part of content,
// gets the missing member key with an empty object as value.
func (r roundTrip) omits(content, object map[string]any, key string) bool {
	return r.same(content, func() { object[key] = map[string]any{} }, func() { delete(object, key) })
}

// same reports whether a client sees the same status of content before and after change.
func (r roundTrip) same(content map[string]any, change, undo func()) bool {
	before, err := r(content)
	if err != nil {
		return false
	}
	change()
	after, err := r(content)
	undo()
	return err == nil && reflect.DeepEqual(before["status"], after["status"])
}
