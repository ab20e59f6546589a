package delta

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/paths"
)

// Specifies returns how many steps of a path obj specifies: all of them if obj has a value there. A
// path that the Go type of obj cannot have is an error. If the type is dynamic or free-form, no path is
// an error.
func Specifies(obj canon.Object, steps []string) (int, error) {
	top, root, err := canon.Tree(obj, true)
	if err != nil {
		return 0, err
	}
	_, depth, err := find(top, root, steps)
	return depth, err
}

// Values returns a function that returns the value of obj at a path, in canonical form, or nil if there
// is none or the Go type of obj cannot have the path.
func Values(obj canon.Object) (func(steps []string) any, error) {
	top, root, err := canon.Tree(obj, true)
	if err != nil {
		return nil, err
	}
	return func(steps []string) any {
		value, _, err := find(top, root, steps)
		if err != nil {
			return nil
		}
		return value
	}, nil
}

// find returns the value at the end of a path, nil if there is none, and the number of steps that lead
// to a value.
func find(s canon.Shape, value any, steps []string) (_ any, depth int, err error) {
	for i, step := range steps {
		if s, value, err = enter(s, value, step); err != nil {
			return nil, 0, err
		}
		if value != nil {
			depth = i + 1
		}
	}
	return value, depth, nil
}

// enter goes one step down from value, which is at s and nil if there is none.
func enter(s canon.Shape, value any, step string) (canon.Shape, any, error) {
	if items, ok := value.([]any); ok || s.IsList() { // else of unknown shape
		item, rule := s.Items()
		at, err := indexOf(rule, items, step)
		if at < 0 {
			return item, nil, err
		}
		return item, items[at], err
	}
	if !s.MayHave(step) {
		return canon.Shape{}, nil, fmt.Errorf("does not exist: there is no %s", step)
	}
	members, _ := value.(map[string]any)
	next, _ := s.Member("", step)
	found, isThere := members[step]
	if isThere && found == nil {
		found = json.RawMessage("null") // is a value, too
	}
	return next, found, nil
}

// indexOf returns the index of the item that step names by its keys, or by its value in a set; -1 if
// there is none. Items of a list without keys have no names.
func indexOf(rule canon.MergeRule, items []any, step string) (int, error) {
	keys := paths.Keys(step)
	if rule.Kind == canon.Keyed && !hasKeys(rule, keys) {
		return -1, fmt.Errorf("has no key: [%s] should be [%s]", step, keyForm(rule))
	}
	if _, err := strconv.Atoi(step); err == nil && rule.Kind == canon.Atomic {
		return -1, fmt.Errorf("names an item by its index, [%s]: name it by its key, such as [name=web]; "+
			"without one it is part of its list", step)
	}
	return slices.IndexFunc(items, func(item any) bool {
		members, isObject := item.(map[string]any)
		return isObject && matches(rule, keys, members) || !isObject && canon.Text(item) == step
	}), nil
}

// hasKeys reports whether keys are those of the rule.
func hasKeys(rule canon.MergeRule, keys map[string]string) bool {
	for _, key := range rule.Keys {
		if _, ok := keys[key.Name]; !ok {
			return false
		}
	}
	return len(keys) == len(rule.Keys)
}

func keyForm(rule canon.MergeRule) string {
	var parts []string
	for _, key := range rule.Keys {
		parts = append(parts, key.Name+"=…")
	}
	return strings.Join(parts, ",")
}

func matches(rule canon.MergeRule, keys map[string]string, members map[string]any) bool {
	for name, value := range keys {
		found := canon.Text(members[name])
		for _, key := range rule.Keys {
			if key.Name == name {
				found = key.Text(found)
			}
		}
		if found != value {
			return false
		}
	}
	return len(keys) > 0
}
