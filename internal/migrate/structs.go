package migrate

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
)

// In the managed fields, a struct looks like a map. These functions tell them apart.

// FieldsOf returns a function that reports whether a path leads to a field of a struct of a Go type.
func FieldsOf(t reflect.Type) func(fieldpath.Path) bool {
	top := canon.ShapeOf(t)
	return func(path fieldpath.Path) bool {
		at := top
		for _, element := range path {
			if element.FieldName != nil {
				at, _ = at.Member("", *element.FieldName)
			} else {
				at, _ = at.Items()
			}
		}
		return at.IsField()
	}
}

// FieldsOfSchema returns a function that reports whether a path leads to a property of an object, by the schema of a
// version of a custom kind. definition is its CustomResourceDefinition.
func FieldsOfSchema(definition *unstructured.Unstructured, version string) func(fieldpath.Path) bool {
	top := schemaOf(definition, version)
	return func(path fieldpath.Path) bool {
		at, isField := top, false
		for _, element := range path {
			if element.FieldName == nil {
				at, isField = member(at, "items"), false
				continue
			}
			properties, _ := at["properties"].(map[string]any)
			if found := member(properties, *element.FieldName); found != nil {
				at, isField = found, true
			} else {
				at, isField = member(at, "additionalProperties"), false
			}
		}
		return isField
	}
}

func schemaOf(definition *unstructured.Unstructured, version string) map[string]any {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, each := range versions {
		if served, _ := each.(map[string]any); served["name"] == version {
			return member(member(served, "schema"), "openAPIV3Schema")
		}
	}
	return nil
}

func member(object map[string]any, name string) map[string]any {
	found, _ := object[name].(map[string]any)
	return found
}
