package moves_test

import (
	"maps"
	"reflect"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// A difference is a field that differs between the two objects; nil is none.
type difference struct {
	path           fieldpath.Path
	born, migrated any
}

// differences compares two values at path. The order of items that have keys does not count: an older version may have
// written them in another one.
func differences(path fieldpath.Path, born, migrated any) []difference {
	bornMap, isBornMap := born.(map[string]any)
	migratedMap, isMigratedMap := migrated.(map[string]any)
	bornList, isBornList := born.([]any)
	migratedList, isMigratedList := migrated.([]any)
	var out []difference
	switch {
	case len(bornMap)+len(migratedMap) > 0 && (isBornMap || born == nil) && (isMigratedMap || migrated == nil):
		for _, name := range slices.Sorted(maps.Keys(united(bornMap, migratedMap))) {
			out = append(out, differences(append(path.Copy(), fieldpath.FieldNameElement(name)), bornMap[name], migratedMap[name])...)
		}
		return out
	case len(bornList)+len(migratedList) > 0 && (isBornList || born == nil) && (isMigratedList || migrated == nil):
		elements, ok := elementsOf(path, bornList, migratedList)
		if !ok {
			break
		}
		for _, element := range elements {
			inner := fieldpath.Path{element}
			out = append(out, differences(append(path.Copy(), element), get(bornList, inner), get(migratedList, inner))...)
		}
		return out
	}
	if !reflect.DeepEqual(born, migrated) {
		out = append(out, difference{path, born, migrated})
	}
	return out
}

func united(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, b)
	return out
}

// listKeys are the keys of items, by a member that all of them have.
var listKeys = map[string][][]string{
	"containers": {{"name"}}, "initContainers": {{"name"}}, "env": {{"name"}}, "volumes": {{"name"}}, "slots": {{"name"}},
	"rooms": {{"name"}}, "imagePullSecrets": {{"name"}}, "volumeMounts": {{"mountPath"}}, "hostAliases": {{"ip"}},
	"ports": {{"containerPort", "protocol"}, {"port", "protocol"}}, "doors": {{"port", "layer"}},
}

// elementsOf returns the items of both lists, each once, and false if the list at path is merged as a whole.
func elementsOf(path fieldpath.Path, lists ...[]any) ([]fieldpath.PathElement, bool) {
	name := path[len(path)-1].FieldName
	if name == nil {
		return nil, false
	}
	found := fieldpath.NewSet()
	for _, item := range slices.Concat(lists...) {
		element, ok := elementOf(*name, item)
		if !ok {
			return nil, false
		}
		found.Insert(fieldpath.Path{element})
	}
	var out []fieldpath.PathElement
	for each := range found.All() {
		out = append(out, each[0])
	}
	return out, true
}

func elementOf(list string, item any) (fieldpath.PathElement, bool) {
	if slices.Contains(sets, list) {
		content := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &content}, true
	}
	members, _ := item.(map[string]any)
	for _, names := range listKeys[list] {
		if members[names[0]] == nil {
			continue
		}
		var key value.FieldList
		for _, name := range names {
			member := members[name]
			if member == nil {
				member = keyDefaults[name]
			}
			key = append(key, value.Field{Name: name, Value: value.NewValueInterface(member)})
		}
		key.Sort()
		return fieldpath.PathElement{Key: &key}, true
	}
	return fieldpath.PathElement{}, false
}
