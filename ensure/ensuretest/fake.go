package ensuretest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// NewClient returns a client of a fake API server: controller-runtime's fake client with the responses
// of a real server wherever ensure, status and finalizer depend on them. The server has copies of objs,
// with UIDs, generations and resourceVersions.
//
// Each kind of scheme whose Go type has a status has the status subresource. Custom kinds are
// namespaced, except for the kinds of those objs that have no namespace. To register a kind without a
// Go type, use scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{}).
//
// Like controller-runtime's builder, NewClient panics if one of objs cannot be stored: an object of a
// kind that is not in scheme, or a duplicate.
func NewClient(scheme *runtime.Scheme, objs ...client.Object) *Client {
	s := &server{store: newStore(scheme, clock.RealClock{}), mapper: newRESTMapper(scheme, objs)}
	seeds := make([]client.Object, len(objs))
	for i, obj := range objs {
		seeds[i], _ = obj.DeepCopyObject().(client.Object)
	}
	s.fake = s.newFake(s.store, seeds...)
	counted := s.client()
	c := Count(counted, counted)
	c.fake = s.fake
	return c
}

// newFake returns controller-runtime's fake client of the objects in store.
func (s *server) newFake(store *store, seeds ...client.Object) client.WithWatch {
	builder := fake.NewClientBuilder().
		WithScheme(store.scheme).
		WithRESTMapper(s.mapper).
		WithReturnManagedFields().
		WithObjectTracker(store).
		WithObjects(seeds...)
	for _, obj := range store.withStatus {
		builder = builder.WithStatusSubresource(obj)
	}
	return builder.Build()
}
