package ensuretest

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/internal/object"
)

// storeSecret moves the stringData of a Secret to its data, as a server never stores stringData.
func storeSecret(obj runtime.Object) {
	secret, ok := obj.(*corev1.Secret)
	if !ok || len(secret.StringData) == 0 {
		return
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

// dropStatus removes the status of a new object if its kind has a status subresource.
func (s *store) dropStatus(gvk schema.GroupVersionKind, obj runtime.Object) error {
	if _, ok := s.withStatus[gvk]; !ok {
		return nil
	}
	content, err := object.Content(obj)
	if err != nil {
		return err
	}
	delete(content, "status")
	if u, ok := obj.(runtime.Unstructured); ok {
		u.SetUnstructuredContent(content)
		return nil
	}
	cleared, err := s.scheme.New(gvk)
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, cleared); err != nil {
		return err
	}
	return assign(obj, cleared)
}

// dropNoStatus removes the null that controller-runtime writes as the status of an unstructured object
// without one.
func dropNoStatus(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok && u.Object["status"] == nil {
		delete(u.Object, "status")
	}
}

// live returns the stored object with the name of obj.
func (s *store) live(obj client.Object) (runtime.Object, schema.GroupVersionResource, error) {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		return nil, schema.GroupVersionResource{}, err
	}
	gvr, _ := meta.UnsafeGuessKindToResource(gvk)
	live, err := s.Get(gvr, obj.GetNamespace(), obj.GetName())
	return live, gvr, err
}

// put stores obj unchanged, and returns its resourceVersion.
func (s *store) put(gvr schema.GroupVersionResource, obj runtime.Object) (string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", err
	}
	return accessor.GetResourceVersion(), s.ObjectTracker.Create(gvr, obj, accessor.GetNamespace())
}

// of does a write of a subresource.
func (s *store) of(subresource string, write func() error) error {
	s.subresource = subresource
	defer func() { s.subresource = "" }()
	return write()
}

// showsEmptyStatus reports whether obj is a custom object that is stored without a status although its
// Go type shows the status of a new object.
func (s *store) showsEmptyStatus(obj client.Object) bool {
	live, _, err := s.live(obj)
	if err != nil || builtIn().Recognizes(live.GetObjectKind().GroupVersionKind()) {
		return false
	}
	none, err := s.scheme.New(live.GetObjectKind().GroupVersionKind())
	shown := statusOf(live)
	return err == nil && shown != nil && reflect.DeepEqual(shown, statusOf(none))
}
