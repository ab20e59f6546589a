package status

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one of a JSON patch (RFC 6902).
type operation map[string]any

func set(path string, value any) operation {
	return operation{"op": "add", "path": path, "value": value} // which replaces, too, if the path exists
}

func remove(path string) operation {
	return operation{"op": "remove", "path": path}
}

func expect(path string, value any) operation {
	return operation{"op": "test", "path": path, "value": value}
}

// differ collects the operations that make after of before, as JSON.
//
// A Go struct cannot tell an object that is absent from one with nothing in it that the
// struct knows, and a JSON patch can write into the second only. The differ therefore
// presumes that such a vague object is absent, says so in a test, and adds it whole. If
// the test fails it is asked for again, and told what is stored.
type differ struct {
	// exact says that before is what the server has, member for member, as it is for
	// unstructured objects.
	exact bool
	// told says that the server's own object comes with before and after.
	told bool

	operations []operation
	// presumed says that a test would fail if a vague object were there.
	presumed bool
}

// object compares members; stored is what the server has in before's place, if d is told.
func (d *differ) object(path string, before, after map[string]any, stored any) {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		d.member(path, key, before, after, stored)
	}
}

// member compares one member of the objects before and after.
func (d *differ) member(path, key string, before, after map[string]any, stored any) {
	path += "/" + escape.Replace(key)
	old, had := before[key]
	value, has := after[key]
	switch {
	case had && has && reflect.DeepEqual(old, value):
		return
	case !has:
		d.add(remove(path))
		return
	}
	oldObject, isObject := old.(map[string]any)
	object, staysObject := value.(map[string]any)
	oldList, _ := old.([]any)
	list, _ := value.([]any)
	around, _ := stored.(map[string]any)
	switch {
	case isObject && staysObject && !d.exact && isZero(old):
		d.vagueObject(path, oldObject, object, around[key])
	case isObject && staysObject:
		d.object(path, oldObject, object, around[key])
	case key == "conditions" && len(oldList) > 0 && areConditions(oldList) && areConditions(list):
		d.conditions(path, oldList, list, around[key])
	default:
		d.add(set(path, value))
	}
}

// vagueObject changes an object that may be absent.
func (d *differ) vagueObject(path string, before, after map[string]any, stored any) {
	if !d.told {
		d.presumed = true
		d.add(expect(path, nil), set(path, after))
		return
	}
	if _, isThere := stored.(map[string]any); isThere {
		d.object(path, before, after, stored)
		return
	}
	d.add(set(path, after))
}

// conditions compares lists of conditions by type; their order is nobody's business.
// Each operation on an existing one is preceded by a test that it is at its place.
func (d *differ) conditions(path string, before, after []any, stored any) {
	var gone []operation
	items, _ := stored.([]any)
	for i, old := range before {
		item := path + "/" + strconv.Itoa(i)
		here := expect(item+"/type", typeOf(old))
		j := slices.IndexFunc(after, func(c any) bool { return typeOf(c) == typeOf(old) })
		switch {
		case j < 0:
			// From the last to the first, so that none moves before its turn.
			gone = slices.Concat([]operation{here, remove(item)}, gone)
		case !reflect.DeepEqual(old, after[j]):
			d.add(here)
			d.object(item, old.(map[string]any), after[j].(map[string]any), itemOf(items, i)) //nolint:forcetypeassert // see areConditions
		}
	}
	d.add(gone...)
	for _, condition := range after {
		if !slices.ContainsFunc(before, func(c any) bool { return typeOf(c) == typeOf(condition) }) {
			d.add(set(path+"/-", condition))
		}
	}
}

func (d *differ) add(operations ...operation) {
	d.operations = append(d.operations, operations...)
}

// paths are those that the operations change.
func (d *differ) paths() []string {
	var paths []string
	for _, op := range d.operations {
		if path, ok := op["path"].(string); ok && op["op"] != "test" {
			paths = append(paths, path)
		}
	}
	return paths
}

// escape writes a key as a step of a JSON pointer.
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// areConditions tells whether each item is an object with a type that no other has.
func areConditions(list []any) bool {
	seen := map[string]bool{}
	for _, item := range list {
		name := typeOf(item)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// itemOf is an item of what the server has, if there is one.
func itemOf(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func typeOf(condition any) string {
	object, _ := condition.(map[string]any)
	name, _ := object["type"].(string)
	return name
}

// isZero tells whether a Go struct writes value for what was absent.
func isZero(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			if !isZero(member) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	case json.Number:
		return v == "0"
	case string:
		return v == "" || v == "0" || v == "0s" // the last two are those of a Quantity and a Duration
	case bool:
		return !v
	}
	return value == nil
}
