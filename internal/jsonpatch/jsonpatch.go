// Package jsonpatch has the operations of JSON patches (RFC 6902).
package jsonpatch

import (
	"encoding/json"
	"strings"
)

// An Operation is one step of a JSON patch.
type Operation struct {
	Op    string
	Path  string // a JSON pointer (RFC 6901)
	Value any    // of add, replace and test
}

// Add sets the member at path, or inserts the item at path.
func Add(path string, value any) Operation { return Operation{Op: "add", Path: path, Value: value} }

// Replace sets the value at path, which must exist.
func Replace(path string, value any) Operation {
	return Operation{Op: "replace", Path: path, Value: value}
}

// Remove removes the value at path, which must exist.
func Remove(path string) Operation { return Operation{Op: "remove", Path: path} }

// Test fails the whole patch unless the value at path equals value.
func Test(path string, value any) Operation { return Operation{Op: "test", Path: path, Value: value} }

// MarshalJSON writes the value of every operation that has one, null and false included.
func (o Operation) MarshalJSON() ([]byte, error) {
	members := map[string]any{"op": o.Op, "path": o.Path}
	if o.Op != "remove" {
		members["value"] = o.Value
	}
	return json.Marshal(members)
}

// Join returns the pointer to the member name of the object at pointer.
func Join(pointer, name string) string { return pointer + "/" + escapes.Replace(name) }

var escapes = strings.NewReplacer("~", "~0", "/", "~1")
