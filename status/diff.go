package status

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/trueup-go/trueup/internal/jsonpatch"
)

// A differ collects the operations that turn the status of one object into that of another,
// both as JSON.
//
// What a Go type shows need not be what the server has: a struct cannot tell an object that is
// absent from one in which it knows nothing, and a JSON patch can write into the second only.
// Where that is so, the differ presumes that the object is absent, and adds it whole behind a
// test. If such a patch cannot be applied, merger takes over.
type differ struct {
	show show
	// before and after are all of the objects.
	before, after map[string]any

	operations []jsonpatch.Operation
}

// object compares members.
func (d *differ) object(path string, before, after map[string]any) {
	for _, key := range keysOf(before, after) {
		d.member(path, key, before, after)
	}
}

// member compares one member of the objects before and after.
func (d *differ) member(path, key string, before, after map[string]any) {
	path = jsonpatch.Join(path, key)
	old, had := before[key]
	value, has := after[key]
	switch {
	case had && has && reflect.DeepEqual(old, value):
	case has:
		d.set(path, key, before, value)
	default:
		d.remove(path, key, old, after)
	}
}

// set changes a member of before to value.
func (d *differ) set(path, key string, before map[string]any, value any) {
	old := before[key]
	oldObject, isObject := old.(map[string]any)
	object, staysObject := value.(map[string]any)
	oldList, _ := old.([]any)
	list, _ := value.([]any)
	switch {
	case isObject && staysObject && (d.show == nil || !d.show.mayBeAbsent(d.before, before, key)):
		d.object(path, oldObject, object)
	case staysObject && d.show != nil && (isObject || old == nil):
		d.add(jsonpatch.Test(path, nil), jsonpatch.Add(path, value))
	case key == conditionsKey && len(oldList) > 0 && areConditions(oldList) && areConditions(list):
		d.conditions(path, oldList, list)
	default:
		d.add(jsonpatch.Add(path, value)) // which replaces, too, if the path exists
	}
}

// remove removes a member that after has no more. If that is a struct which is not shown while
// it is empty, a test sees to it that nothing else is in it.
func (d *differ) remove(path, key string, old any, after map[string]any) {
	if _, isObject := old.(map[string]any); isObject && d.show != nil && d.show.omits(d.after, after, key) {
		d.add(jsonpatch.Test(path, old))
	}
	d.add(jsonpatch.Remove(path))
}

// conditions compares lists of conditions by type; their order is nobody's business.
// Each operation on an existing one is preceded by a test that it is at its place.
func (d *differ) conditions(path string, before, after []any) {
	var gone []jsonpatch.Operation
	for i, old := range before {
		item := path + "/" + strconv.Itoa(i)
		here := jsonpatch.Test(item+"/type", typeOf(old))
		j := indexOfType(after, typeOf(old))
		switch {
		case j < 0:
			// From the last to the first, so that none moves before its turn.
			gone = slices.Concat([]jsonpatch.Operation{here, jsonpatch.Remove(item)}, gone)
		case !reflect.DeepEqual(old, after[j]):
			d.add(here)
			d.object(item, old.(map[string]any), after[j].(map[string]any)) //nolint:forcetypeassert // see areConditions
		}
	}
	d.add(gone...)
	for _, condition := range after {
		if indexOfType(before, typeOf(condition)) < 0 {
			d.add(jsonpatch.Add(path+"/-", condition))
		}
	}
}

func (d *differ) add(operations ...jsonpatch.Operation) {
	d.operations = append(d.operations, operations...)
}

// paths are those that the operations change.
func (d *differ) paths() []string {
	var paths []string
	for _, op := range d.operations {
		paths = append(paths, op.Path)
	}
	return paths
}

// keysOf returns the keys of both objects, sorted.
func keysOf(before, after map[string]any) []string {
	keys := maps.Clone(after)
	if keys == nil {
		return slices.Sorted(maps.Keys(before))
	}
	maps.Copy(keys, before)
	return slices.Sorted(maps.Keys(keys))
}
