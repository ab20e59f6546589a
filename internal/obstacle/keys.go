package obstacle

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// CompleteKeys adds to desired's items the only member of a key that the API server adds to items of its own kinds, and
// returns the lists with items whose keys are not whole then. Nothing tells with which items of live those are merged: for
// custom kinds, the schema has the defaults.
func (m *Merge) CompleteKeys() (lacking []fieldpath.Path) {
	group, _, _ := strings.Cut((&unstructured.Unstructured{Object: m.desired}).GetAPIVersion(), "/")
	isBuiltIn := !strings.Contains(group, ".") // the group of a custom kind has a dot
	eachList(m.desired, nil, m.owned, func(items []any, path fieldpath.Path, owned *fieldpath.Set) {
		name := naming(owned)
		if name == nil {
			return
		}
		if isBuiltIn {
			addProtocol(items, elements(items, name))
		}
		if slices.ContainsFunc(elements(items, name), lacksKey) {
			lacking = append(lacking, path)
		}
	})
	return lacking
}

// addProtocol adds the default to the items whose key lacks the protocol.
func addProtocol(items []any, named []fieldpath.PathElement) {
	for i, element := range named {
		isProtocol := func(field value.Field) bool { return field.Name == "protocol" && field.Value.IsNull() }
		if members, ok := items[i].(map[string]any); ok && element.Key != nil && slices.ContainsFunc(*element.Key, isProtocol) {
			members["protocol"] = "TCP"
		}
	}
}

// lacksKey reports whether an item with this name leaves out members of its key.
func lacksKey(element fieldpath.PathElement) bool {
	return element.Key != nil && slices.ContainsFunc(*element.Key, func(field value.Field) bool { return field.Value.IsNull() })
}
