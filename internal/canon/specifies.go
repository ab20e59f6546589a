package canon

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pathForm matches the form of Change.Path: names separated by dots, keys in brackets.
var pathForm = regexp.MustCompile(`^[A-Za-z_]\w*(\.[^.\[\]]+|\[[^\[\]]+\])*$`)

// ParsePath returns the steps of a path in the form of Change.Path that a person wrote, such as
// spec.ports[port=80,protocol=TCP] or metadata.labels[example.org/tier].
func ParsePath(path string) ([]string, error) {
	if !pathForm.MatchString(path) {
		return nil, errors.New("is no path such as spec.replicas, metadata.annotations[example.com/x] " +
			"or spec.template.spec.containers[name=web].image")
	}
	return Steps(path), nil
}

// Specifies returns how many steps of a path obj specifies: all of them if obj has a value there. A
// path that the Go type of obj cannot have is an error. If the type is dynamic or free-form, no path is
// an error.
func Specifies(obj Object, path []string) (int, error) {
	top, root, err := open(obj)
	if err != nil {
		return 0, err
	}
	_, depth, err := top.walk(root, path)
	return depth, err
}

// Values returns a function that returns the value of obj at a path, in canonical form, or nil if there
// is none or the Go type of obj cannot have the path.
func Values(obj Object) (func(path []string) any, error) {
	top, root, err := open(obj)
	if err != nil {
		return nil, err
	}
	return func(path []string) any {
		value, _, err := top.walk(root, path)
		if err != nil {
			return nil
		}
		return value
	}, nil
}

// open returns obj as JSON values.
func open(obj Object) (shape, map[string]any, error) {
	c, err := read(obj)
	if err != nil {
		return shape{}, nil, err
	}
	return tree(c, specified)
}

// walk follows path from value, whose shape is s. It returns the value at the end, nil if there is
// none, and the number of steps that lead to a value.
func (s shape) walk(value any, path []string) (_ any, depth int, err error) {
	at := s
	for i, step := range path {
		if at, value, err = at.enter(value, step); err != nil {
			return nil, 0, err
		}
		if value != nil {
			depth = i + 1
		}
	}
	return value, depth, nil
}

// enter goes one step down from value, which is at s and nil if there is none.
func (s shape) enter(value any, step string) (shape, any, error) {
	if items, ok := value.([]any); ok || s.isList() { // else of unknown shape
		item, rule := s.items()
		at, err := rule.find(items, step)
		if at < 0 {
			return item, nil, err
		}
		return item, items[at], err
	}
	isMetadata := s.root && step == "metadata"
	if object, ok := resolve(s.plan).(*structPlan); ok && !isMetadata && !object.has(step) {
		return shape{}, nil, fmt.Errorf("leads nowhere: there is no %s", step)
	}
	members, _ := value.(map[string]any)
	next, _ := s.member("", step)
	found, isThere := members[step]
	if isThere && found == nil {
		found = json.RawMessage("null") // is a value, too
	}
	return next, found, nil
}

func (p *structPlan) has(name string) bool {
	for i := range p.fields {
		if p.fields[i].name == name {
			return true
		}
	}
	return false
}

// find returns the index of the item that step names by its keys, or by its value in a set; -1 if there
// is none. Items of a list without keys have no names.
func (r *mergeRule) find(items []any, step string) (int, error) {
	keys := ParseKeys(step)
	if r.kind == keyed && !r.names(keys) {
		return -1, fmt.Errorf("has no key: [%s] should be [%s]", step, r.form())
	}
	if _, err := strconv.Atoi(step); err == nil && r.kind == atomic {
		return -1, fmt.Errorf("names an item by its index, [%s]: name it by its key, such as [name=web]; "+
			"without one it is part of its list", step)
	}
	return slices.IndexFunc(items, func(item any) bool {
		members, isObject := item.(map[string]any)
		return isObject && r.matches(keys, members) || !isObject && text(item) == step
	}), nil
}

// ParseKeys returns the keys in the name of an item, such as port=80,protocol=TCP. The result is empty
// if step has no keys.
func ParseKeys(step string) map[string]string {
	keys := map[string]string{}
	for part := range strings.SplitSeq(step, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			keys[name] = value
		}
	}
	return keys
}

// names reports whether keys are those of the rule.
func (r *mergeRule) names(keys map[string]string) bool {
	for i := range r.keys {
		if _, ok := keys[r.keys[i].name]; !ok {
			return false
		}
	}
	return len(keys) == len(r.keys)
}

func (r *mergeRule) form() string {
	var parts []string
	for i := range r.keys {
		parts = append(parts, r.keys[i].name+"=…")
	}
	return strings.Join(parts, ",")
}

func (r *mergeRule) matches(keys map[string]string, members map[string]any) bool {
	for name, value := range keys {
		found := text(members[name])
		for i := range r.keys {
			if r.keys[i].name == name {
				found = r.keys[i].text(found)
			}
		}
		if found != value {
			return false
		}
	}
	return len(keys) > 0
}

// Steps splits a path, such as spec.template.spec.containers[0].ports[1].name, and keys in brackets
// with dots in them.
func Steps(field string) []string {
	var out []string
	for field != "" {
		end := strings.IndexAny(field, ".[")
		switch {
		case end < 0:
			return append(out, field)
		case end > 0:
			out = append(out, field[:end])
			field = field[end:]
		case field[0] == '.':
			field = field[1:]
		default:
			inside, rest, _ := strings.Cut(field[1:], "]")
			out = append(out, inside)
			field = rest
		}
	}
	return out
}
