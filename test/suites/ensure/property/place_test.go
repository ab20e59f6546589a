package property_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// A place is a part of an object and its value, in one line:
//
//	spec.template.spec.containers[name=main].image=example.com/web:1
//	metadata.labels[example.com/team]=theirs
//	spec.tolerations[+]={key: theirs}
//
// A minus sign before the line means that the part is absent. Brackets hold the keys of an item,
// or, without an equals sign, the key of a map. A plus sign means a new item.
type place string

// write puts the value at its place into obj, or removes it.
func (p place) write(t *testing.T, obj map[string]any) {
	t.Helper()
	text, remove := strings.CutPrefix(string(p), "-")
	steps, value := split(text)
	if remove {
		take(obj, steps)
		return
	}
	put(t, obj, steps, parse(t, value))
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(text), &value), text)
	return integers(value)
}

// integers makes integers of the integral floats that JSON has instead.
func integers(value any) any {
	switch v := value.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case map[string]any:
		for name := range v {
			v[name] = integers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return value
}

// split separates the steps of a place from its value.
func split(text string) (steps []string, value string) {
	for text != "" {
		switch end := strings.IndexAny(text, ".[="); {
		case text[0] == '[':
			end = strings.IndexByte(text, ']') + 1
			steps, text = append(steps, text[:end]), strings.TrimPrefix(text[end:], ".")
		case end < 0:
			return append(steps, text), ""
		case text[0] == '=':
			return steps, text[1:]
		case text[end] == '.':
			steps, text = append(steps, text[:end]), text[end+1:]
		default:
			steps, text = append(steps, text[:end]), text[end:]
		}
	}
	return steps, ""
}

// inside returns the text between a step's brackets, and whether the text names an item.
func inside(step string) (text string, isItem bool) {
	text, isBracket := strings.CutPrefix(step, "[")
	text = strings.TrimSuffix(text, "]")
	return text, isBracket && (text == "+" || strings.Contains(text, "="))
}

func put(t *testing.T, parent any, steps []string, value any) any {
	t.Helper()
	if len(steps) == 0 {
		return value
	}
	step, isItem := inside(steps[0])
	if !isItem {
		members, _ := parent.(map[string]any)
		if members == nil {
			members = map[string]any{}
		}
		members[step] = put(t, members[step], steps[1:], value)
		return members
	}
	items, _ := parent.([]any)
	i := indexOf(items, step)
	if i < 0 {
		items, i = append(items, newItem(t, step)), len(items)
	}
	if len(steps) > 1 || value != nil {
		items[i] = put(t, items[i], steps[1:], value)
	}
	return items
}

func newItem(t *testing.T, step string) any {
	t.Helper()
	if step == "+" {
		return nil
	}
	item := map[string]any{}
	for key := range strings.SplitSeq(step, ",") {
		name, value, _ := strings.Cut(key, "=")
		item[name] = parse(t, value)
	}
	return item
}

func indexOf(items []any, step string) int {
	return slices.IndexFunc(items, func(item any) bool {
		members, isMap := item.(map[string]any)
		if !isMap || step == "+" {
			return false
		}
		for key := range strings.SplitSeq(step, ",") {
			name, value, _ := strings.Cut(key, "=")
			if fmt.Sprint(members[name]) != value {
				return false
			}
		}
		return true
	})
}

// take removes the value at steps and returns the rest of parent.
func take(parent any, steps []string) any {
	step, isItem := inside(steps[0])
	switch p := parent.(type) {
	case map[string]any:
		if isItem {
			return p
		}
		if len(steps) == 1 {
			delete(p, step)
		} else if inner, ok := p[step]; ok {
			p[step] = take(inner, steps[1:])
		}
	case []any:
		i := indexOf(p, step)
		if i < 0 {
			return p
		}
		if len(steps) == 1 {
			return slices.Delete(p, i, i+1)
		}
		p[i] = take(p[i], steps[1:])
	}
	return parent
}

// has reports whether obj has the value at its place.
func (p place) has(t *testing.T, obj map[string]any) bool {
	t.Helper()
	steps, value := split(string(p))
	var found any = obj
	for _, step := range steps {
		name, isItem := inside(step)
		switch parent := found.(type) {
		case map[string]any:
			found = parent[name]
		case []any:
			if name == "+" {
				return slices.ContainsFunc(parent, func(item any) bool { return satisfies(item, parse(t, value)) })
			}
			i := indexOf(parent, name)
			if !isItem || i < 0 {
				return false
			}
			found = parent[i]
		default:
			return false
		}
	}
	return value == "" && found != nil || satisfies(found, parse(t, value))
}

// satisfies reports whether live has all that desired has: of a list an item for each.
func satisfies(live, desired any) bool {
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for name, value := range d {
			ok = ok && satisfies(l[name], value)
		}
		return ok || len(d) == 0
	case []any:
		l, ok := live.([]any)
		for _, item := range d {
			ok = ok && slices.ContainsFunc(l, func(other any) bool { return satisfies(other, item) })
		}
		return ok || len(d) == 0
	}
	return fmt.Sprint(live) == fmt.Sprint(desired)
}
