package status

import (
	"encoding/json"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A show returns what a Go type shows of an object of the server: the JSON that a client
// makes of what it has decoded.
type show func(content map[string]any) (map[string]any, error)

// showOf returns the show of obj's Go type; nil if it shows all that the server has.
func (w *writer) showOf(obj client.Object) show {
	if isExact(obj) {
		return nil
	}
	return func(content map[string]any) (map[string]any, error) {
		data, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		decoded := emptyLike(obj, w.kind)
		if err := json.Unmarshal(data, decoded); err != nil {
			return nil, err
		}
		return w.encode(decoded)
	}
}

// mayBeAbsent reports whether content is shown with the same status if object, a part of
// content, does not have its member key.
func (s show) mayBeAbsent(content, object map[string]any, key string) bool {
	member := object[key]
	return s.same(content, func() { delete(object, key) }, func() { object[key] = member })
}

// omits reports whether content is shown with the same status if object, a part of content,
// has an empty object as its member key, which it does not have.
func (s show) omits(content, object map[string]any, key string) bool {
	return s.same(content, func() { object[key] = map[string]any{} }, func() { delete(object, key) })
}

func (s show) same(content map[string]any, change, undo func()) bool {
	before, err := s(content)
	if err != nil {
		return false
	}
	change()
	after, err := s(content)
	undo()
	return err == nil && reflect.DeepEqual(before["status"], after["status"])
}
