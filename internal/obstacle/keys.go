package obstacle

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// builtInDefaults are the values of those members of keys that the API server adds to items of its own
// kinds. For custom kinds the schema decides.
var builtInDefaults = map[string]any{"protocol": "TCP"}

// CompleteKeys adds to desired's items the members of their keys that the API server adds, and returns
// the lists with items whose keys are not whole then. Nothing tells with which items of live those are
// merged. applied are the fields of an apply of desired alone, whose items have whole keys; nil if
// they are not known.
func (m *Merge) CompleteKeys(applied *fieldpath.Set) []fieldpath.Path {
	if applied == nil {
		applied = fieldpath.NewSet()
	}
	group, _, _ := strings.Cut((&unstructured.Unstructured{Object: m.desired}).GetAPIVersion(), "/")
	k := keys{isBuiltIn: !strings.Contains(group, ".")} // the group of a custom kind has a dot
	k.complete(m.desired, fieldpath.Path{}, m.owned, applied)
	return k.lacking
}

type keys struct {
	isBuiltIn bool
	lacking   []fieldpath.Path
}

// complete completes the keys in desired's part at path. owned and applied are the fields below it.
func (k *keys) complete(desired any, path fieldpath.Path, owned, applied *fieldpath.Set) {
	switch desired := desired.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(desired)) {
			element := fieldpath.FieldNameElement(name)
			k.complete(desired[name], append(path, element), owned.WithPrefix(element), applied.WithPrefix(element))
		}
	case []any:
		name := naming(owned)
		if name == nil {
			return
		}
		if !k.completeItems(desired, name, applied) {
			k.lacking = append(k.lacking, path.Copy())
		}
		for i, element := range elements(desired, name) {
			k.complete(desired[i], append(path, element), owned.WithPrefix(element), applied.WithPrefix(element))
		}
	}
}

// completeItems reports whether all items have whole keys then.
func (k *keys) completeItems(items []any, name func(any) fieldpath.PathElement, applied *fieldpath.Set) bool {
	named := elements(items, name)
	for more := true; more; { // once an item is complete, no other one can have its key
		more = false
		for i, element := range named {
			if members, ok := items[i].(map[string]any); ok && lacksKey(element) && k.completeItem(members, named, element, applied) {
				named[i], more = name(members), true
			}
		}
	}
	return !slices.ContainsFunc(named, lacksKey)
}

// lacksKey reports whether an item with this name leaves out members of its key.
func lacksKey(element fieldpath.PathElement) bool {
	return element.Key != nil && slices.ContainsFunc(*element.Key, func(field value.Field) bool { return field.Value.IsNull() })
}

// completeItem adds members of the key to the members of an item of this name, and reports whether it knew
// any. named are the names of all items.
func (k *keys) completeItem(
	members map[string]any, named []fieldpath.PathElement, element fieldpath.PathElement, applied *fieldpath.Set,
) bool {
	whole, isOnly := onlyKey(*element.Key, named, applied)
	known := false
	for at, field := range *element.Key {
		fallback, isBuiltIn := builtInDefaults[field.Name]
		switch {
		case !field.Value.IsNull():
		case k.isBuiltIn && isBuiltIn:
			members[field.Name], known = fallback, true
		case isOnly:
			members[field.Name], known = whole[at].Value.Unstructured(), true
		}
	}
	return known
}

// onlyKey returns the only whole key among applied with the members that part has, and false if
// there is none, or several. The keys of named are those of other items.
func onlyKey(part value.FieldList, named []fieldpath.PathElement, applied *fieldpath.Set) (whole value.FieldList, ok bool) {
	for _, element := range firstElements(applied) {
		isAnothers := slices.ContainsFunc(named, element.Equals)
		if element.Key == nil || isAnothers || !isPart(part, *element.Key) {
			continue
		}
		if ok && !whole.Equals(*element.Key) { // an element may be among the fields twice: as one, and with fields in it
			return nil, false
		}
		whole, ok = *element.Key, true
	}
	return whole, ok
}

// isPart reports whether whole has the members that key has.
func isPart(key, whole value.FieldList) bool {
	return len(key) == len(whole) && !slices.ContainsFunc(key, func(field value.Field) bool {
		return !field.Value.IsNull() && !slices.ContainsFunc(whole, func(other value.Field) bool {
			return other.Name == field.Name && value.Equals(other.Value, field.Value)
		})
	})
}
