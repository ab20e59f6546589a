package together

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// A manifest is a part of an object as somebody specifies it.
type manifest = map[string]any

// parse reads a manifest of this package, with numbers as the API machinery has them.
func parse(format string, args ...any) manifest {
	text, err := yaml.YAMLToJSON(fmt.Appendf(nil, format, args...))
	if err != nil {
		panic(fmt.Errorf("a manifest of this package is wrong: %w", err))
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		panic(fmt.Errorf("a manifest of this package is wrong: %w", err))
	}
	return m
}

// selectorOf returns the labels by which a component of an owner selects its pods, as the content of a YAML map in
// braces.
func selectorOf(operator string, owner client.Object, component string) string {
	return fmt.Sprintf("app.kubernetes.io/name: %s, app.kubernetes.io/instance: %s, app.kubernetes.io/component: %s",
		operator, owner.GetName(), component)
}

// specOf returns the spec of an owner.
func specOf(owner client.Object) (manifest, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(owner)
	if err != nil {
		return nil, err
	}
	spec, _, err := unstructured.NestedMap(content, "spec")
	return spec, err
}

// text returns a string of a manifest, "" if the field is missing.
func text(m manifest, fields ...string) string {
	value, _, _ := unstructured.NestedString(m, fields...)
	return value
}

// lacks returns the path of the first value of a manifest that a live object lacks, or "". Maps and
// lists may contain more, as other programs may add to them.
func lacks(live, want any, path string) string {
	switch want := want.(type) {
	case manifest:
		there, _ := live.(manifest)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if missing := lacks(there[key], want[key], path+"."+key); missing != "" {
				return missing
			}
		}
		return ""
	case []any:
		there, _ := live.([]any)
		for i, item := range want {
			if !holds(there, item) {
				return fmt.Sprintf("%s[%d]: %v is not among %v", path, i, item, there)
			}
		}
		return ""
	}
	if !reflect.DeepEqual(live, want) {
		return fmt.Sprintf("%s: %v, not %v", path, live, want)
	}
	return ""
}

func holds(list []any, item any) bool {
	for _, there := range list {
		if lacks(there, item, "") == "" {
			return true
		}
	}
	return false
}
