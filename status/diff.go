package status

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/trueup-go/trueup/internal/jsonpatch"
)

// A differ computes the JSON patch that changes the status of one object into the status of
// another, both in JSON form.
//
// The JSON form of a Go object can differ from the stored object: a struct has the same JSON
// form whether the stored object lacks the member or has a member with fields that the Go type
// does not know. A JSON patch can add a field to the latter only. In this case, mergePatch returns a merge
// patch, which does not need to know. A merge patch cannot change one condition of several, and has no null. So if
// there is such a change as well, the differ assumes that the member is missing, and adds the whole struct after a
// test for the missing member. If the server cannot apply the patch, a merger computes another one.
type differ struct {
	roundTrip roundTrip
	// before and after are the whole objects.
	before, after map[string]any

	operations  []jsonpatch.Operation
	isUncertain bool // whether the stored object has a struct
	isTested    bool // an operation is only right for what a test before it finds
}

// diffObject adds the operations for all members of before and after.
func (d *differ) diffObject(path string, before, after map[string]any) {
	for _, key := range keysOf(before, after) {
		d.diffMember(path, key, before, after)
	}
}

// diffMember adds the operations for one member of before and after.
func (d *differ) diffMember(path, key string, before, after map[string]any) {
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

// set adds the operations that change a member of before to value.
func (d *differ) set(path, key string, before map[string]any, value any) {
	old := before[key]
	oldObject, isObject := old.(map[string]any)
	object, staysObject := value.(map[string]any)
	oldList, _ := old.([]any)
	list, _ := value.([]any)
	switch {
	case isObject && staysObject && (d.roundTrip == nil || !d.roundTrip.mayBeAbsent(d.before, before, key)):
		d.diffObject(path, oldObject, object)
	case staysObject && d.roundTrip != nil && (isObject || old == nil):
		d.isUncertain = true
		d.add(jsonpatch.Test(path, nil), jsonpatch.Add(path, value))
	case key == conditionsKey && len(oldList) > 0 && areConditions(oldList) && areConditions(list):
		d.diffConditions(path, oldList, list)
	default:
		d.add(jsonpatch.Add(path, value)) // add also replaces an existing value
	}
}

// remove adds the operations that remove a member. A struct that the Go type omits when empty
// may have fields that the Go type does not know: a test makes the patch fail in that case.
func (d *differ) remove(path, key string, old any, after map[string]any) {
	if _, isObject := old.(map[string]any); isObject && d.roundTrip != nil && d.roundTrip.omits(d.after, after, key) {
		d.isTested = true
		d.add(jsonpatch.Test(path, old))
	}
	d.add(jsonpatch.Remove(path))
}

// diffConditions adds the operations for lists of conditions, matched by type; the order does
// not matter. A test before each change of a condition checks that the condition is still at
// its index.
func (d *differ) diffConditions(path string, before, after []any) {
	d.isTested = true
	var gone []jsonpatch.Operation
	for i, old := range before {
		item := path + "/" + strconv.Itoa(i)
		here := jsonpatch.Test(item+"/type", typeOf(old))
		j := indexOfType(after, typeOf(old))
		switch {
		case j < 0:
			// Remove from the last to the first, so that the indexes stay valid.
			gone = slices.Concat([]jsonpatch.Operation{here, jsonpatch.Remove(item)}, gone)
		case !reflect.DeepEqual(old, after[j]):
			d.add(here)
			d.diffObject(item, old.(map[string]any), after[j].(map[string]any)) //nolint:forcetypeassert // see areConditions
		}
	}
	d.add(gone...)
	for _, condition := range after {
		if indexOfType(before, typeOf(condition)) < 0 {
			d.add(jsonpatch.Add(path+"/-", condition))
		}
	}
}

// mergePatch returns the change of the status as a JSON merge patch, or nil if a JSON patch is as good, or necessary.
func (d *differ) mergePatch() map[string]any {
	if !d.isUncertain || d.isTested {
		return nil
	}
	patch := map[string]any{}
	d.mergeMember(patch, "status", d.before, d.after)
	if d.isTested {
		return nil
	}
	return patch
}

func (d *differ) mergeMember(patch map[string]any, key string, before, after map[string]any) {
	old, had := before[key]
	value, has := after[key]
	oldObject, isObject := old.(map[string]any)
	object, staysObject := value.(map[string]any)
	switch {
	case had && has && reflect.DeepEqual(old, value):
	case isObject && staysObject && !d.roundTrip.mayBeAbsent(d.before, before, key):
		inner := map[string]any{}
		for _, member := range keysOf(oldObject, object) {
			d.mergeMember(inner, member, oldObject, object)
		}
		patch[key] = inner
	default:
		d.isTested = d.isTested || hasNull(value)
		patch[key] = value // null if the member is gone
	}
}

// hasNull reports whether an object has a member that is null, which a merge patch would remove.
func hasNull(value any) bool {
	object, _ := value.(map[string]any)
	for _, member := range object {
		if member == nil || hasNull(member) {
			return true
		}
	}
	return false
}

func (d *differ) add(operations ...jsonpatch.Operation) {
	d.operations = append(d.operations, operations...)
}

// paths returns the paths of all operations.
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
