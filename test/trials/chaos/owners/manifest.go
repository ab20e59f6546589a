package owners

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

// A Manifest is a part of an object as somebody specifies it.
type Manifest = map[string]any

// parse reads a manifest of this package, with numbers as the API machinery has them.
func parse(format string, args ...any) Manifest {
	var m Manifest
	text, err := yaml.YAMLToJSON(fmt.Appendf(nil, format, args...))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return Manifest{"kind": "invalid", "error": err.Error()} // which no live object matches
	}
	return m
}

// childrenOf returns the children that the operator with this digest ensures for its owner of a kind.
func childrenOf(controller, digest string, keepsDigest bool, wants ...Manifest) []Child {
	children := make([]Child, len(wants))
	for i, want := range wants {
		children[i] = Child{Want: want, Digest: digest, Controller: controller, KeepsDigest: keepsDigest}
	}
	return children
}

// selectorOf returns the labels by which a component of an owner selects its pods, as the content of a YAML map in
// braces.
func selectorOf(operator string, owner client.Object, component string) string {
	return fmt.Sprintf("app.kubernetes.io/name: %s, app.kubernetes.io/instance: %s, app.kubernetes.io/component: %s",
		operator, owner.GetName(), component)
}

// SpecOf returns the spec of an owner.
func SpecOf(owner client.Object) (Manifest, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(owner)
	if err != nil {
		return nil, err
	}
	spec, _, err := unstructured.NestedMap(content, "spec")
	return spec, err
}

// Text returns a string of a Manifest, "" if the field is missing.
func Text(m Manifest, fields ...string) string {
	value, _, _ := unstructured.NestedString(m, fields...)
	return value
}

// Lacks returns the path of the first value of a Manifest that a live object lacks, or "". Maps and
// lists may contain more, as other programs may add to them.
func Lacks(live, want any, path string) string {
	switch want := want.(type) {
	case Manifest:
		there, _ := live.(Manifest)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if missing := Lacks(there[key], want[key], path+"."+key); missing != "" {
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
		if Lacks(there, item, "") == "" {
			return true
		}
	}
	return false
}
