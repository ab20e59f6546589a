package moves_test

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
	"sigs.k8s.io/yaml"
)

// sets are the lists whose items are their own keys.
var sets = []string{"tags", "finalizers"}

// keyDefaults are the defaults of members of keys.
var keyDefaults = map[string]any{"protocol": "TCP", "layer": "L4"}

// parse reads a value in YAML, with integers as the server's answers have them.
func parse(text string) any {
	var content any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		panic(text + ": " + err.Error()) // a mistake in a table of this package
	}
	return integers(content)
}

func integers(content any) any {
	switch c := content.(type) {
	case float64:
		return int64(c)
	case map[string]any:
		for name := range c {
			c[name] = integers(c[name])
		}
	case []any:
		for i := range c {
			c[i] = integers(c[i])
		}
	}
	return content
}

// pathOf reads a path in the form that ensure.Release describes.
func pathOf(text string) fieldpath.Path {
	var path fieldpath.Path
	last := ""
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "["); ok {
			inside, rest, _ := strings.Cut(rest, "]")
			path, text = append(path, itemOf(last, inside)), strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			end = len(text)
		}
		last = text[:end]
		path, text = append(path, fieldpath.FieldNameElement(last)), strings.TrimPrefix(text[end:], ".")
	}
	return path
}

func itemOf(list, text string) fieldpath.PathElement {
	if slices.Contains(sets, list) {
		item := value.NewValueInterface(parse(text))
		return fieldpath.PathElement{Value: &item}
	}
	if !strings.Contains(text, "=") {
		return fieldpath.FieldNameElement(text)
	}
	var key value.FieldList
	for field := range strings.SplitSeq(text, ",") {
		name, content, _ := strings.Cut(field, "=")
		key = append(key, value.Field{Name: name, Value: value.NewValueInterface(parse(content))})
	}
	key.Sort()
	return fieldpath.PathElement{Key: &key}
}

// get returns what tree has at path; nil if nothing.
func get(tree any, path fieldpath.Path) any {
	for _, element := range path {
		switch parent := tree.(type) {
		case map[string]any:
			if element.FieldName == nil {
				return nil
			}
			tree = parent[*element.FieldName]
		case []any:
			at := indexOf(parent, element)
			if at < 0 {
				return nil
			}
			tree = parent[at]
		default:
			return nil
		}
	}
	return tree
}

// put writes content at path into tree.
func put(tree any, path fieldpath.Path, content any) any {
	if len(path) == 0 {
		return runtime.DeepCopyJSONValue(content)
	}
	element := path[0]
	if element.FieldName != nil {
		members, _ := tree.(map[string]any)
		if members == nil {
			members = map[string]any{}
		}
		members[*element.FieldName] = put(members[*element.FieldName], path[1:], content)
		return members
	}
	items, _ := tree.([]any)
	at := indexOf(items, element)
	if at < 0 {
		items, at = append(items, nil), len(items)
	}
	if element.Value != nil {
		items[at] = (*element.Value).Unstructured()
		return items
	}
	item, _ := put(items[at], path[1:], content).(map[string]any)
	if item == nil {
		item = map[string]any{}
	}
	for _, field := range *element.Key {
		item[field.Name] = field.Value.Unstructured()
	}
	items[at] = item
	return items
}

// remove takes what is at path out of tree.
func remove(tree any, path fieldpath.Path) any {
	element := path[0]
	switch parent := tree.(type) {
	case map[string]any:
		inner, ok := parent[*element.FieldName]
		switch {
		case len(path) == 1:
			delete(parent, *element.FieldName)
		case ok:
			parent[*element.FieldName] = remove(inner, path[1:])
		}
	case []any:
		at := indexOf(parent, element)
		switch {
		case at < 0:
		case len(path) == 1:
			return slices.Delete(parent, at, at+1)
		default:
			parent[at] = remove(parent[at], path[1:])
		}
	}
	return tree
}

func indexOf(items []any, element fieldpath.PathElement) int {
	return slices.IndexFunc(items, func(item any) bool {
		if element.Value != nil {
			return value.Equals(value.NewValueInterface(item), *element.Value)
		}
		members, isMap := item.(map[string]any)
		return isMap && element.Key != nil && !slices.ContainsFunc(*element.Key, func(field value.Field) bool {
			member, ok := members[field.Name]
			if !ok {
				member = keyDefaults[field.Name]
			}
			return !value.Equals(value.NewValueInterface(member), field.Value)
		})
	})
}

// satisfies reports whether live has all that wanted has: for each item of a list one that satisfies it.
func satisfies(live, wanted any) bool {
	switch w := wanted.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for name, content := range w {
			ok = ok && satisfies(l[name], content)
		}
		return ok
	case []any:
		l, ok := live.([]any)
		for _, item := range w {
			ok = ok && slices.ContainsFunc(l, func(other any) bool { return satisfies(other, item) })
		}
		return ok
	case nil: // an item that is its own key
		return live != nil
	}
	return value.Equals(value.NewValueInterface(live), value.NewValueInterface(wanted))
}
