package ensure

import (
	"k8s.io/apimachinery/pkg/runtime"
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
