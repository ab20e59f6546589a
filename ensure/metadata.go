package ensure

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unreadableMetadata finds unstructured metadata that the accessors of
// unstructured.Unstructured take for empty, so that setting something would lose it:
// scrape: true among the annotations is enough.
func unreadableMetadata(obj client.Object) (path, problem string) {
	u, ok := obj.(runtime.Unstructured)
	if !ok {
		return "", ""
	}
	metadata, ok := u.UnstructuredContent()["metadata"].(map[string]any)
	if !ok {
		return "", ""
	}
	for _, wanted := range metadataShapes {
		if value := metadata[wanted.member]; value != nil && !wanted.fits(value) {
			return "metadata." + wanted.member, "is not " + wanted.name
		}
	}
	return "", ""
}

var metadataShapes = []struct {
	member, name string
	fits         func(any) bool
}{
	{"annotations", "a map of strings", isMapOf[string]},
	{"finalizers", "a list of strings", isListOf[string]},
	{"labels", "a map of strings", isMapOf[string]},
	{"ownerReferences", "a list of objects", isListOf[map[string]any]},
}

func isMapOf[T any](value any) bool {
	m, ok := value.(map[string]any)
	for _, v := range m {
		if _, fits := v.(T); !fits {
			return false
		}
	}
	return ok
}

func isListOf[T any](value any) bool {
	list, ok := value.([]any)
	for _, v := range list {
		if _, fits := v.(T); !fits {
			return false
		}
	}
	return ok
}

// oursIn is a fingerprint of what live has in the places of the metadata that desired
// names: other people's labels, annotations, owners and finalizers do not count.
func (c *child) oursIn(live client.Object) string {
	sum := sha256.New()
	note := func(parts ...any) { _, _ = fmt.Fprintf(sum, "%q\n", parts) } // a hash takes everything
	noteKeys := func(desired, live map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(desired)) {
			value, there := live[key]
			note(key, value, there)
		}
		note("")
	}
	noteKeys(c.desired.GetLabels(), live.GetLabels())
	noteKeys(c.desired.GetAnnotations(), live.GetAnnotations())
	for _, wanted := range c.desired.GetOwnerReferences() {
		for _, ref := range live.GetOwnerReferences() {
			if sameOwner(ref, wanted) {
				note(ref.APIVersion, ref.Kind, ref.Name, ptr.Deref(ref.Controller, false), ptr.Deref(ref.BlockOwnerDeletion, false))
			}
		}
		note("")
	}
	for _, finalizer := range c.desired.GetFinalizers() {
		note(slices.Contains(live.GetFinalizers(), finalizer))
	}
	return string(sum.Sum(nil)[:16])
}
