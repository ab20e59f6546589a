package ensuretest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// NewClient returns a client of an API server that is not there: controller-runtime's fake
// client, made to answer as a server does wherever ensure, status and finalizer depend on
// it. It has copies of objs, with UIDs, generations and resourceVersions.
//
// Each kind of scheme whose Go type has a status has the status subresource. Custom kinds
// are in namespaces, but for those of objs that are in none. A kind that has no Go type is
// registered as unstructured: scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{}).
//
// Like controller-runtime's builder it panics if it cannot hold one of objs: a kind that is
// not in scheme, the same object twice.
func NewClient(scheme *runtime.Scheme, objs ...client.Object) *Client {
	s := &server{store: newStore(scheme, clock.RealClock{}), mapper: newRESTMapper(scheme, objs)}
	seeds := make([]client.Object, len(objs))
	for i, obj := range objs {
		seeds[i], _ = obj.DeepCopyObject().(client.Object)
	}
	s.fake = s.newFake(s.store, seeds...)
	c := s.client()
	return Count(c, c)
}

// newFake returns controller-runtime's own fake client of what store holds.
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
