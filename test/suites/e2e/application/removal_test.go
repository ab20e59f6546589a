package application_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// collectorLimit bounds the time of the garbage collector, which looks for new custom kinds every
// 30 seconds.
const collectorLimit = 90 * time.Second

// TestRemoval deletes one of two Applications: its children are deleted without a request from the
// operator, and the children of the other one stay.
func TestRemoval(t *testing.T) {
	process := start(t)
	f := newFixture(t, process)
	other := f
	other.name = "shop-2"
	other.create(t)
	other.settle(t)

	// The operator sees the deletion of the Application before the deletion of its children;
	// otherwise the order of the events is undefined.
	mark := shared.Mark()
	f.patch(t, f.application(t), `{"metadata":{"finalizers":["example.org/hold"]}}`)
	require.NoError(t, admin(t).Delete(t.Context(), f.application(t)))
	f.reconcile(t)
	f.patch(t, f.application(t), `{"metadata":{"finalizers":null}}`)
	for _, child := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-secret-greeting"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shop-deployment-microservice"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop-service-microservice"}},
	} {
		require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
			err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: child.GetName()}, child)
			return expect(apierrors.IsNotFound(err), "%T is not gone: %v", child, err)
		}))
	}
	other.settle(t)
	require.Empty(t, f.allRequests(t, mark))
}

// TestNamespaceRemoval deletes the whole namespace, children before their Application. The operator
// does not retry objects that cannot be created again.
func TestNamespaceRemoval(t *testing.T) {
	process := start(t)
	f := newFixture(t, process)
	mark := shared.Mark()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	require.NoError(t, admin(t).Delete(t.Context(), namespace))
	eventually(t, func(ctx context.Context) error {
		err := admin(t).Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return expect(apierrors.IsNotFound(err), "not gone: %v", err)
	})
	total := 0
	for _, count := range f.allRequests(t, mark) {
		total += count
	}
	require.Less(t, total, 20, "%v", f.allRequests(t, mark))
	t.Logf("requests: %v", f.allRequests(t, mark))
}
