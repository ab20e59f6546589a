package managedfields

import (
	"bytes"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/paths"
)

// Fields returns the fields that an entry owns. An unreadable entry owns nothing.
func Fields(entry *metav1.ManagedFieldsEntry) *fieldpath.Set {
	fields := fieldpath.NewSet()
	if entry == nil || entry.FieldsV1 == nil {
		return fields
	}
	if err := fields.FromJSON(bytes.NewReader(Raw(entry.FieldsV1))); err != nil {
		return fieldpath.NewSet()
	}
	return fields
}

// WithFields returns entry with other fields.
func WithFields(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) metav1.ManagedFieldsEntry {
	text, _ := fields.ToJSON() // fails for no fields that were read from JSON
	entry.FieldsV1 = NewFields(string(text))
	return entry
}

// Split returns the fields for which inside holds, and the rest.
func Split(fields *fieldpath.Set, inside func(fieldpath.Path) bool) (within, rest *fieldpath.Set) {
	within = fieldpath.NewSet()
	fields.Iterate(func(path fieldpath.Path) {
		if inside(path) {
			within.Insert(path.Copy())
		}
	})
	return within, fields.Difference(within)
}

// HasPrefix reports whether path leads to prefix or inside.
func HasPrefix(path, prefix fieldpath.Path) bool {
	return len(path) >= len(prefix) && path[:len(prefix)].Equals(prefix)
}

// Holds reports whether fields contain path, or a path inside.
func Holds(fields *fieldpath.Set, path fieldpath.Path) bool {
	return fields.Has(path) || !below(fields, path).Empty()
}

// below returns what fields contain inside path, with paths that begin there.
func below(fields *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, element := range path {
		fields = fields.WithPrefix(element)
	}
	return fields
}

// Text returns a path in the form of Change.Path.
func Text(path fieldpath.Path) string {
	text := ""
	for _, element := range path {
		if element.FieldName != nil {
			text = paths.MemberOrKey(text, *element.FieldName)
		} else {
			text = paths.Item(text, itemText(element))
		}
	}
	return text
}

// TextIn is Text for a path in an object of this shape, which tells the keys of maps from the fields of structs.
func TextIn(at canon.Shape, path fieldpath.Path) string {
	text := ""
	for i, step := range Steps(path) {
		if path[i].FieldName != nil {
			at, text = at.Member(text, step)
			continue
		}
		at, _ = at.Items()
		text = paths.Item(text, step)
	}
	return text
}

// Steps returns the steps of a path, as paths.Steps returns those of its text. Unlike the text, the
// path shows a key that contains brackets.
func Steps(path fieldpath.Path) []string {
	steps := make([]string, len(path))
	for i, element := range path {
		if element.FieldName != nil {
			steps[i] = *element.FieldName
		} else {
			steps[i] = itemText(element)
		}
	}
	return steps
}

func itemText(element fieldpath.PathElement) string {
	switch {
	case element.Index != nil:
		return strconv.Itoa(*element.Index)
	case element.Value != nil:
		return scalarText(*element.Value)
	case element.Key == nil:
		return ""
	}
	var keys []paths.Key
	for _, field := range *element.Key {
		keys = append(keys, paths.Key{Name: field.Name, Value: scalarText(field.Value)})
	}
	return paths.ItemName(keys)
}

// IsAt reports whether path leads to where the steps do, or below.
func IsAt(path fieldpath.Path, steps []string) bool {
	if len(path) < len(steps) {
		return false
	}
	for i, step := range steps {
		if !isStep(path[i], step) {
			return false
		}
	}
	return true
}

func isStep(element fieldpath.PathElement, step string) bool {
	switch {
	case element.FieldName != nil:
		return *element.FieldName == step
	case element.Index != nil:
		return strconv.Itoa(*element.Index) == step
	case element.Key != nil:
		return isKey(*element.Key, paths.Keys(step))
	case element.Value != nil:
		return scalarText(*element.Value) == step
	}
	return false
}

func isIndex(step string) bool {
	return step != "" && strings.Trim(step, "0123456789") == ""
}

// isKey reports whether an item has these merge keys. One that is not named is empty.
func isKey(key value.FieldList, wanted map[string]string) bool {
	found := 0
	for _, field := range key {
		value, named := wanted[field.Name]
		if value != scalarText(field.Value) {
			return false
		}
		if named {
			found++
		}
	}
	return found == len(wanted)
}

// scalarText returns a scalar in the form that paths contain.
func scalarText(v value.Value) string {
	if v.IsString() {
		return v.AsString()
	}
	return value.ToString(v)
}
