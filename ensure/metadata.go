package ensure

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unreadableMetadata finds unstructured metadata that the accessors of unstructured.Unstructured treat
// as empty, so that setting a value would lose it: scrape: true among the annotations is enough.
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

// oursIn returns a fingerprint of the metadata of live that desired specifies, and of its digest.
// Labels, annotations, owners and finalizers of others do not count.
func (c *child) oursIn(live client.Object) string {
	var found notes
	found.add(c.store.Get(live))
	found.addKeys(c.desired.GetLabels(), live.GetLabels())
	found.addKeys(c.desired.GetAnnotations(), live.GetAnnotations())
	owners := live.GetOwnerReferences()
	for _, wanted := range c.desired.GetOwnerReferences() {
		for _, ref := range owners {
			if sameOwner(ref, wanted) {
				found.add(ref.APIVersion, ref.Kind, ref.Name)
				found.addBool(ptr.Deref(ref.Controller, false))
				found.addBool(ptr.Deref(ref.BlockOwnerDeletion, false))
			}
		}
		found.add("")
	}
	finalizers := live.GetFinalizers()
	for _, finalizer := range c.desired.GetFinalizers() {
		found.addBool(slices.Contains(finalizers, finalizer))
	}
	return digestOf(found)
}

// notes are texts and booleans one after another, told apart by quotes.
type notes []byte

func (n *notes) add(texts ...string) {
	for _, text := range texts {
		*n = strconv.AppendQuote(*n, text)
	}
}

func (n *notes) addBool(value bool) { *n = strconv.AppendBool(*n, value) }

func (n *notes) addKeys(desired, live map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		value, there := live[key]
		n.add(key, value)
		n.addBool(there)
	}
	n.add("")
}
