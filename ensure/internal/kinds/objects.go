package kinds

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/object"
)

// Empty returns a new object of the Go type of like to read into.
func (k *Kind) Empty(like client.Object) client.Object {
	return object.New(like, k.APIVersion, k.GVK.Kind)
}

// ShallowCopy returns a copy whose metadata can be set without changing obj. The two share their
// content, which may only be read from then on.
func (k *Kind) ShallowCopy(obj client.Object) client.Object {
	if u, ok := obj.(runtime.Unstructured); ok {
		return k.shareContent(obj, u)
	}
	shallow := reflect.New(reflect.TypeOf(obj).Elem())
	shallow.Elem().Set(reflect.ValueOf(obj).Elem())
	copied, _ := reflect.TypeAssert[client.Object](shallow)
	return copied
}

func (k *Kind) shareContent(obj client.Object, u runtime.Unstructured) client.Object {
	content := u.UnstructuredContent()
	shallow := maps.Clone(content)
	if shallow == nil {
		shallow = map[string]any{}
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		shallow["metadata"] = maps.Clone(metadata)
	}
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return &unstructured.Unstructured{Object: shallow}
	}
	out := k.Empty(obj)
	if target, ok := out.(runtime.Unstructured); ok {
		target.SetUnstructuredContent(shallow)
	}
	return out
}

// SpecifiesStatus reports whether obj specifies a status, which ensure never writes.
func (k *Kind) SpecifiesStatus(obj client.Object) bool {
	if u, ok := obj.(runtime.Unstructured); ok {
		return isSpecified(reflect.ValueOf(u.UnstructuredContent()["status"]))
	}
	return k.status >= 0 && isSpecified(reflect.ValueOf(obj).Elem().Field(k.status))
}

// isSpecified reports whether a value has other values than zero values and empty lists. Tools that write a typed
// object as YAML write these into the status.
func isSpecified(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Map:
		for _, key := range value.MapKeys() {
			if isSpecified(value.MapIndex(key)) {
				return true
			}
		}
		return false
	case reflect.Slice:
		return value.Len() > 0
	case reflect.Struct:
		for _, field := range value.Fields() {
			if isSpecified(field) {
				return true
			}
		}
		return false
	case reflect.Interface, reflect.Pointer:
		return isSpecified(value.Elem())
	}
	return !value.IsZero()
}

// UnreadableMetadata finds unstructured metadata that the accessors of unstructured.Unstructured treat
// as empty, so that setting a value would lose it: scrape: true among the annotations is enough.
func UnreadableMetadata(obj client.Object) (path, problem string) {
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
