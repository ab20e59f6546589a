// Package paths reads and writes the paths of values in objects, such as
// spec.ports[port=80,protocol=TCP].nodePort.
//
// A path is a text: names of members with dots in between; keys of maps, merge keys of list items,
// members of sets and indexes in brackets. The steps of a path are these names and the texts in the
// brackets.
package paths

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

var form = regexp.MustCompile(`^[A-Za-z_]\w*(\.[^.\[\]]+|\[[^\[\]]+\])*$`)

// Parse returns the steps of a path that a person wrote, such as spec.ports[port=80,protocol=TCP] or
// metadata.labels[example.org/tier].
func Parse(text string) ([]string, error) {
	if !form.MatchString(text) {
		return nil, errors.New("is not a path such as spec.replicas, metadata.annotations[example.com/x] " +
			"or spec.template.spec.containers[name=web].image")
	}
	return Steps(text), nil
}

// Steps returns the steps of a path.
func Steps(text string) []string {
	var steps []string
	for text != "" {
		end := strings.IndexAny(text, ".[")
		switch {
		case end < 0:
			return append(steps, text)
		case end > 0:
			steps = append(steps, text[:end])
			text = text[end:]
		case text[0] == '.':
			text = text[1:]
		default:
			inside, rest, _ := strings.Cut(text[1:], "]")
			steps = append(steps, inside)
			text = rest
		}
	}
	return steps
}

// HasPrefix reports whether steps begin with prefix.
func HasPrefix(steps, prefix []string) bool {
	return len(steps) >= len(prefix) && slices.Equal(steps[:len(prefix)], prefix)
}

// Member returns the path of a member of the object at parent.
func Member(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// MemberOrKey returns the path of an entry of the value at parent, which may be an object or a map.
func MemberOrKey(parent, name string) string {
	if strings.ContainsAny(name, "./[]=, ") || name == "" {
		return Item(parent, name)
	}
	return Member(parent, name)
}

// Item returns the path of an item of the list at parent, or of the value of a key of the map at
// parent.
func Item(parent, step string) string { return parent + "[" + step + "]" }

// Keys returns the merge keys that the step of a list item names, such as port=80,protocol=TCP. The
// result is empty if step names no merge keys.
func Keys(step string) map[string]string {
	keys := map[string]string{}
	for part := range strings.SplitSeq(step, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			keys[name] = value
		}
	}
	return keys
}

// A Key is a merge key of a list item, and the text of the value.
type Key struct{ Name, Value string }

// ItemName returns the step of a list item with these merge keys.
func ItemName(keys []Key) string {
	parts := make([]string, len(keys))
	for i, key := range keys {
		parts[i] = key.Name + "=" + key.Value
	}
	return strings.Join(parts, ",")
}

// First returns the first steps of a path.
func First(path string, steps int) string {
	key := false
	for at, char := range path {
		switch {
		case key:
			key = char != ']'
		case char == '.' || char == '[':
			key = char == '['
			if steps--; steps == 0 {
				return path[:at]
			}
		}
	}
	return path
}
