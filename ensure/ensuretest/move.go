package ensuretest

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/internal/object"
)

// A move is the difference between an object and its replacement.
type move struct {
	any     bool // but for the resourceVersion and the times of managedFields
	content bool // outside metadata and status
}

func look(live, obj runtime.Object) (move, error) {
	before, err := contentOf(live)
	if err != nil {
		return move{}, err
	}
	after, err := contentOf(obj)
	if err != nil {
		return move{}, err
	}
	m := move{any: !reflect.DeepEqual(before, after)}
	for _, content := range []map[string]any{before, after} {
		delete(content, "metadata")
		delete(content, "status")
	}
	m.content = !reflect.DeepEqual(before, after)
	return m, nil
}

// contentOf returns the part of an object that a write has to change to have an effect.
func contentOf(obj runtime.Object) (map[string]any, error) {
	content, err := object.Content(obj.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	delete(content, "apiVersion")
	delete(content, "kind")
	unstructured.RemoveNestedField(content, "metadata", "resourceVersion")
	entries, _, err := unstructured.NestedSlice(content, "metadata", "managedFields")
	if err != nil || len(entries) == 0 {
		return content, err
	}
	for _, entry := range entries {
		if entry, ok := entry.(map[string]any); ok {
			delete(entry, "time")
		}
	}
	return content, unstructured.SetNestedSlice(content, entries, "metadata", "managedFields")
}

func firstGeneration(kind schema.GroupKind) int64 {
	if withoutGeneration.Has(kind) || kind == (schema.GroupKind{Group: "storage.k8s.io", Kind: "CSIDriver"}) {
		return 0
	}
	return 1
}

// nextGeneration returns the generation after a change. For kinds that have a generation, changes of
// the content and the deletion count, with exceptions for some built-in kinds.
func nextGeneration(kind schema.GroupKind, before, after metav1.Object, content bool) int64 {
	if withoutGeneration.Has(kind) {
		return before.GetGeneration()
	}
	counts := content
	counted := true // the deletion
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}: // copies its annotations to ReplicaSets
		counts = counts || !reflect.DeepEqual(before.GetAnnotations(), after.GetAnnotations())
	case schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:
		counts = counts || !reflect.DeepEqual(before.GetLabels(), after.GetLabels())
	case schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:
		counts = false
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		counted = false
	}
	goes := before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil
	if counts || goes && counted && before.GetGeneration() > 0 {
		return before.GetGeneration() + 1
	}
	return before.GetGeneration()
}

// assign sets obj to other. Both are pointers to the same type.
func assign(obj, other runtime.Object) error {
	to, from := reflect.ValueOf(obj), reflect.ValueOf(other)
	if to.Type() != from.Type() {
		return fmt.Errorf("a %T cannot be a %T", obj, other)
	}
	to.Elem().Set(from.Elem())
	return nil
}
