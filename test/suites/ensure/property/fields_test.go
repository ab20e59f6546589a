package property_test

import (
	"bytes"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// entriesOf returns the fields of each manager, by its name, operation and subresource.
func entriesOf(obj *unstructured.Unstructured) map[string]*fieldpath.Set {
	out := map[string]*fieldpath.Set{}
	for _, entry := range obj.GetManagedFields() {
		set := fieldpath.NewSet()
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			continue
		}
		key := entry.Manager + " " + string(entry.Operation) + " " + entry.Subresource
		if known := out[key]; known != nil {
			set = set.Union(known)
		}
		out[key] = set
	}
	return out
}

// unowned returns where there is something below path that no entry has, each as large as
// possible, the metadata and the status aside.
func unowned(tree any, owned *fieldpath.Set, path fieldpath.Path) []fieldpath.Path {
	var out []fieldpath.Path
	inside := func(element fieldpath.PathElement, value any) {
		at := append(path.Copy(), element)
		switch below := owned.WithPrefix(element); {
		case !below.Empty():
			out = append(out, unowned(value, below, at)...)
		case !owned.Members.Has(element):
			out = append(out, at)
		}
	}
	switch parent := tree.(type) {
	case map[string]any:
		for name, value := range parent {
			if len(path) > 0 || !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
				inside(fieldpath.FieldNameElement(name), value)
			}
		}
	case []any:
		owned.Children.Iterate(func(element fieldpath.PathElement) {
			if i := find(parent, element); i >= 0 {
				inside(element, parent[i])
			}
		})
	}
	return out
}

func lookup(tree any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		switch parent := tree.(type) {
		case map[string]any:
			if element.FieldName == nil {
				return nil, false
			}
			member, ok := parent[*element.FieldName]
			if !ok {
				return nil, false
			}
			tree = member
		case []any:
			i := find(parent, element)
			if i < 0 {
				return nil, false
			}
			tree = parent[i]
		default:
			return nil, false
		}
	}
	return tree, true
}

// keyDefaults are the defaults of members of keys.
var keyDefaults = map[string]any{"protocol": "TCP"}

// find returns the index of an item, whose key may lack members that have defaults.
func find(items []any, element fieldpath.PathElement) int {
	return slices.IndexFunc(items, func(item any) bool {
		if element.Value != nil {
			return value.Equals(value.NewValueInterface(item), *element.Value)
		}
		members, isMap := item.(map[string]any)
		if element.Key == nil || !isMap {
			return false
		}
		return !slices.ContainsFunc(*element.Key, func(field value.Field) bool {
			member, ok := members[field.Name]
			if !ok {
				member = keyDefaults[field.Name]
			}
			return !value.Equals(value.NewValueInterface(member), field.Value)
		})
	})
}

// textOf returns a path in the notation of Changes.
func textOf(path fieldpath.Path) string {
	var text strings.Builder
	for _, element := range path {
		switch {
		case element.FieldName != nil && text.Len() == 0:
			text.WriteString(*element.FieldName)
		case element.FieldName != nil && strings.ContainsAny(*element.FieldName, "./"):
			text.WriteString("[" + *element.FieldName + "]")
		case element.FieldName != nil:
			text.WriteString("." + *element.FieldName)
		case element.Value != nil:
			text.WriteString("[" + strings.Trim(value.ToString(*element.Value), `"`) + "]")
		case element.Key != nil:
			var keys []string
			for _, field := range *element.Key {
				keys = append(keys, field.Name+"="+strings.Trim(value.ToString(field.Value), `"`))
			}
			text.WriteString("[" + strings.Join(keys, ",") + "]")
		}
	}
	return text.String()
}
