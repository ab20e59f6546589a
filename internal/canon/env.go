package canon

import (
	"maps"
	"reflect"
	"slices"
)

// An environment variable without a value has the empty one: the API knows no absent value.
// So an empty value is a statement where it is sent or compared, unless valueFrom is set.
// It is no part of a typed object's digest, in which no empty text is.

// env is where the API's EnvVar has its value.
type env struct{ value, valueFrom location }

// envOf returns nil for all other structs. The type is known by its name only, as Secret is.
func envOf(t reflect.Type) *env {
	if t.Name() != "EnvVar" || t.PkgPath() != "k8s.io/api/core/v1" {
		return nil
	}
	at := func(name string) location {
		field, _ := t.FieldByName(name)
		return locate(t, field.Index)
	}
	return &env{value: at("Value"), valueFrom: at("ValueFrom")}
}

// isEmpty reports whether the variable at v has the empty value.
func (e *env) isEmpty(v place) bool {
	if e == nil {
		return false
	}
	value, _ := e.value.in(v)
	from, _ := e.valueFrom.in(v)
	return *as[string](value) == "" && from.isNil()
}

// podSpecs are where built-in kinds have pods: a Pod, a PodTemplate, a workload, a CronJob.
var podSpecs = [][]string{
	{"spec"},
	{"template", "spec"},
	{"spec", "template", "spec"},
	{"spec", "jobTemplate", "spec", "template", "spec"},
}

// withEnvValues returns the members of a built-in kind with the empty values that are not
// spelled out, in a copy if there are any.
func withEnvValues(members map[string]any) map[string]any {
	var content any = members
	for _, path := range podSpecs {
		for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
			content, _ = edited(content, append(slices.Clone(path), list), func(containers any) (any, bool) {
				return editedItems(containers, func(container any) (any, bool) {
					return edited(container, []string{"env"}, func(variables any) (any, bool) {
						return editedItems(variables, withEnvValue)
					})
				})
			})
		}
	}
	members, _ = content.(map[string]any)
	return members
}

func withEnvValue(item any) (any, bool) {
	variable, ok := item.(map[string]any)
	if !ok || variable["value"] != nil || variable["valueFrom"] != nil {
		return item, false
	}
	variable = maps.Clone(variable)
	variable["value"] = ""
	return variable, true
}

// edited returns an object with the value at path edited, in a copy of all on the way there;
// false if edit changes nothing.
func edited(object any, path []string, edit func(any) (any, bool)) (any, bool) {
	if len(path) == 0 {
		return edit(object)
	}
	members, _ := object.(map[string]any)
	inner, ok := edited(members[path[0]], path[1:], edit)
	if !ok {
		return object, false
	}
	members = maps.Clone(members)
	members[path[0]] = inner
	return members, true
}

// editedItems does so with each item of a list.
func editedItems(list any, edit func(any) (any, bool)) (any, bool) {
	items, _ := list.([]any)
	isCopy := false
	for i, item := range items {
		item, ok := edit(item)
		if !ok {
			continue
		}
		if !isCopy {
			items, isCopy = slices.Clone(items), true
		}
		items[i] = item
	}
	return items, isCopy
}
