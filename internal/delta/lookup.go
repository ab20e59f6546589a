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
	r := newReader(top, form)
	_, depth, err := r.find(steps)
	return depth, err
}

// Values returns a function that returns the value of obj at a path, or nil if there is none or the Go type of obj cannot
// have the path. The function is for one goroutine.
func Values(obj canon.Object) (func(steps []string) canon.Raw, error) {
	top, form, err := canon.Form(nil, obj, true)
	if err != nil {
		return nil, err
	}
	r := newReader(top, form)
	return func(steps []string) canon.Raw {
		value, _, err := r.find(steps)
		if err != nil {
			return nil
		}
		return value
	}, nil
}

// A reader finds values in a form. Where the next path begins as the last one did, it goes on from there.
type reader struct {
	steps  []string
	places []place // where the steps lead to, after the top
	lists  longLists
}

// A place is the value at a path, nil if there is none.
type place struct {
	canon.Shape

	value canon.Raw
}

func newReader(top canon.Shape, form canon.Raw) *reader {
	return &reader{places: []place{{top, form}}, lists: longLists{}}
}

// find returns the value at the end of a path, nil if there is none, and the number of steps that lead
// to a value.
func (r *reader) find(steps []string) (_ canon.Raw, depth int, err error) {
	known := 0
	for known < min(len(steps), len(r.steps)) && steps[known] == r.steps[known] {
		known++
	}
	r.steps, r.places = r.steps[:known], r.places[:known+1]
	for _, step := range steps[known:] {
		at := r.places[len(r.places)-1]
		if at.Shape, at.value, err = enter(at.Shape, at.value, step, r.lists); err != nil {
			return nil, 0, err
		}
		r.steps, r.places = append(r.steps, step), append(r.places, at)
	}
	for i, at := range r.places {
		if at.value != nil {
			depth = i
		}
	}
	return r.places[len(steps)].value, depth, nil
}

// enter goes one step down from value, which is at s and nil if there is none.
func enter(s canon.Shape, value canon.Raw, step string, lists longLists) (canon.Shape, canon.Raw, error) {
	if value.IsList() || s.IsList() { // else of unknown shape
		item, rule := s.Items()
		if err := checkItem(rule, step); err != nil {
			return item, nil, err
		}
		if lists != nil && len(value) >= longList {
			return item, lists.find(rule, value, step), nil
		}
		for _, found := range value.AppendItems(nil) {
			if isItem(rule, found, step) {
				return item, found, nil
			}
		}
		return item, nil, nil
	}
	if !s.MayHave(step) {
		return canon.Shape{}, nil, fmt.Errorf("does not exist: there is no %s", step)
	}
	next, _ := s.Member("", step)
	return next, value.Member(step), nil
}

// checkItem returns an error if no item of a list with this rule has such a name. Items of a list without keys have no
// names.
func checkItem(rule *canon.MergeRule, step string) error {
	if rule.Kind == canon.Keyed && !hasKeys(rule, paths.Keys(step)) {
		return fmt.Errorf("has no key: [%s] should be [%s]", step, keyForm(rule))
	}
	if _, err := strconv.Atoi(step); err == nil && rule.Kind == canon.Atomic {
		return fmt.Errorf("names an item by its index, [%s]: name it by its key, such as [name=web]; "+
			"without one it is part of its list", step)
	}
	return nil
}

// isItem reports whether step names an item by its keys, or by its value in a set.
func isItem(rule *canon.MergeRule, item canon.Raw, step string) bool {
	return item.IsObject() && len(paths.Keys(step)) > 0 && nameLike(step, rule, item) == step ||
		!item.IsObject() && item.Text() == step
}

// nameLike returns the name of an item by the keys of another name.
func nameLike(step string, rule *canon.MergeRule, item canon.Raw) string {
	var keys []paths.Key
	for part := range strings.SplitSeq(step, ",") {
		name, _, _ := strings.Cut(part, "=")
		value := item.Member(name).Text()
		for _, key := range rule.Keys {
			if key.Name == name {
				value = key.Text(value)
			}
		}
		keys = append(keys, paths.Key{Name: name, Value: value})
	}
	return paths.ItemName(keys)
}

// longList is a length, in bytes, that most lists do not exceed.
const longList = 4 << 10

// longLists find the items of long lists.
type longLists map[listKey]map[string]canon.Raw

// A listKey is a list, and the names of the keys by which its items are found.
type listKey struct {
	list *byte
	keys string
}

// find returns the first item that step names.
func (l longLists) find(rule *canon.MergeRule, list canon.Raw, step string) canon.Raw {
	key := listKey{&list[0], keyNames(step)}
	named, ok := l[key]
	if !ok {
		named = map[string]canon.Raw{}
		for _, item := range slices.Backward(list.AppendItems(nil)) {
			switch {
			case !item.IsObject():
				named[item.Text()] = item
			case key.keys != "":
				named[nameLike(step, rule, item)] = item
			}
		}
		l[key] = named
	}
	return named[step]
}

// keyNames returns the names of the keys in a step, with commas; empty if it has none.
func keyNames(step string) string {
	var names []string
	for part := range strings.SplitSeq(step, ",") {
		if name, _, ok := strings.Cut(part, "="); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
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
