package delta

import (
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
	top, form, err := canon.Form(nil, obj, true)
	if err != nil {
		return 0, err
	}
	_, depth, err := find(top, form, steps)
	return depth, err
}

// Values returns a function that returns the value of obj at a path, or nil if there is none or the Go type of obj cannot
// have the path.
func Values(obj canon.Object) (func(steps []string) canon.Raw, error) {
	top, form, err := canon.Form(nil, obj, true)
	if err != nil {
		return nil, err
	}
	return func(steps []string) canon.Raw {
		value, _, err := find(top, form, steps)
		if err != nil {
			return nil
		}
		return value
	}, nil
}

// find returns the value at the end of a path, nil if there is none, and the number of steps that lead
// to a value.
func find(s canon.Shape, value canon.Raw, steps []string) (_ canon.Raw, depth int, err error) {
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
func enter(s canon.Shape, value canon.Raw, step string) (canon.Shape, canon.Raw, error) {
	if value.IsList() || s.IsList() { // else of unknown shape
		item, rule := s.Items()
		items := value.AppendItems(nil)
		at, err := indexOf(rule, items, step)
		if at < 0 {
			return item, nil, err
		}
		return item, items[at], err
	}
	if !s.MayHave(step) {
		return canon.Shape{}, nil, fmt.Errorf("does not exist: there is no %s", step)
	}
	next, _ := s.Member("", step)
	return next, value.Member(step), nil
}

// indexOf returns the index of the item that step names by its keys, or by its value in a set; -1 if
// there is none. Items of a list without keys have no names.
func indexOf(rule *canon.MergeRule, items []canon.Raw, step string) (int, error) {
	keys := paths.Keys(step)
	if rule.Kind == canon.Keyed && !hasKeys(rule, keys) {
		return -1, fmt.Errorf("has no key: [%s] should be [%s]", step, keyForm(rule))
	}
	if _, err := strconv.Atoi(step); err == nil && rule.Kind == canon.Atomic {
		return -1, fmt.Errorf("names an item by its index, [%s]: name it by its key, such as [name=web]; "+
			"without one it is part of its list", step)
	}
	return slices.IndexFunc(items, func(item canon.Raw) bool {
		return item.IsObject() && matches(rule, keys, item) || !item.IsObject() && item.Text() == step
	}), nil
}

// hasKeys reports whether keys are those of the rule.
func hasKeys(rule *canon.MergeRule, keys map[string]string) bool {
	for _, key := range rule.Keys {
		if _, ok := keys[key.Name]; !ok {
			return false
		}
	}
	return len(keys) == len(rule.Keys)
}

func keyForm(rule *canon.MergeRule) string {
	var parts []string
	for _, key := range rule.Keys {
		parts = append(parts, key.Name+"=…")
	}
	return strings.Join(parts, ",")
}

func matches(rule *canon.MergeRule, keys map[string]string, item canon.Raw) bool {
	for name, value := range keys {
		found := item.Member(name).Text()
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
