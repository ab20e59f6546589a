package bookstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// collectorLimit bounds the time of the garbage collector, which looks for new custom kinds every
// 30 seconds.
const collectorLimit = 90 * time.Second

// TestRemoval deletes BookStores.
func TestRemoval(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"claims stay for the next of that name":       testRetain,
		"claims go":                                   testNoRetain,
		"claims go as asked for last":                 testRetainNoMore,
		"somebody else's finalizer is left alone":     testForeignFinalizer,
		"in the foreground":                           testForegroundRemoval,
		"a pod that takes its time is not waited for": testSlowPod,
		"before anything was made":                    testEarlyRemoval,
		"a whole namespace":                           testNamespaceRemoval,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

func noRetain(store *v1alpha1.BookStore) { store.Spec.BookDB.Retain = new(false) }

// areGone waits until nothing is left of children and pods.
func (f fixture) areGone(t *testing.T) {
	t.Helper()
	f.waitUntilGone(t, f.name, f.named())
	require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
		for _, list := range []client.ObjectList{
			&corev1.ServiceList{}, &appsv1.StatefulSetList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{},
		} {
			if err := admin(t).List(ctx, list, client.InNamespace(f.namespace)); err != nil {
				return err
			}
			left, err := meta.ExtractList(list)
			if err := errors.Join(err, expect(len(left) == 0, "%d are left of %T", len(left), list)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func testRetain(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	earlier, mark := f.uids(t), shared.Mark()
	f.delete(t)
	f.areGone(t)
	require.Equal(t, []string{"patch bookstores shop"}, f.writes(t, mark), "the garbage collector does the rest")
	for ordinal := range 2 {
		require.Equal(t, earlier[f.claimName(ordinal)], f.claim(t, ordinal).UID)
		require.Empty(t, f.claim(t, ordinal).OwnerReferences)
		require.Nil(t, f.claim(t, ordinal).DeletionTimestamp)
	}
	f.create(t)
	f.settle(t)
	for ordinal := range 2 {
		require.Equal(t, earlier[f.claimName(ordinal)], f.claim(t, ordinal).UID)
		require.Equal(t, earlier[f.claimName(ordinal)], f.store(t).Status.Volumes[ordinal].UID)
	}
}

// testNoRetain has three databases, then two, then none.
func testNoRetain(t *testing.T, process *operator.Process) {
	f := newFixture(t, process, noRetain, func(store *v1alpha1.BookStore) { store.Spec.BookDB.Replicas = 3 })
	f.change(t, `{"bookDB":{"replicas":2}}`)
	f.settle(t)
	require.Len(t, f.store(t).Status.Volumes, 3, "that of the earlier replica is known")
	f.delete(t)
	f.areGone(t)
	for ordinal := range 3 {
		f.waitUntilGone(t, f.claimName(ordinal), &corev1.PersistentVolumeClaim{})
	}
	f.create(t)
	f.settle(t)
}

// testRetainNoMore changes the policy in the last moment, each way.
func testRetainNoMore(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.change(t, `{"bookDB":{"retain":false}}`)
	f.settle(t)
	f.change(t, `{"bookDB":{"retain":true}}`)
	f.settle(t)
	uids := f.uids(t)
	f.delete(t)
	f.areGone(t)
	require.Equal(t, uids[f.claimName(1)], f.claim(t, 1).UID)

	f.create(t, noRetain, func(store *v1alpha1.BookStore) { store.Spec.BookDB.Replicas = 1 })
	f.settle(t)
	f.delete(t)
	f.areGone(t)
	for ordinal := range 2 {
		f.waitUntilGone(t, f.claimName(ordinal), &corev1.PersistentVolumeClaim{})
	}
}

// testForeignFinalizer also shows that nothing is made again while the BookStore goes.
func testForeignFinalizer(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.patch(t, f.named(), `{"metadata":{"finalizers":["example.org/hold","`+v1alpha1.Finalizer+`"]}}`)
	f.settle(t)
	mark := shared.Mark()
	f.delete(t)
	eventually(t, func(context.Context) error {
		left := f.store(t).Finalizers
		return expect(slices.Equal(left, []string{"example.org/hold"}), "%v", left)
	})
	eventually(t, func(context.Context) error {
		message := condition(f.store(t), v1alpha1.ReadyCondition).Message
		return expect(strings.Contains(message, "somebody else's finalizer is left"), "%s", message)
	})
	f.waitForReason(t, v1alpha1.ReadyCondition, "Terminating")
	require.NoError(t, admin(t).Delete(t.Context(), f.app(t)))
	require.NoError(t, admin(t).Delete(t.Context(), f.service(t, "shop-app")))
	f.reconcile(t)
	f.isAbsent(t, "shop-app", &corev1.Service{})
	f.isAbsent(t, "shop-app", &appsv1.Deployment{})
	require.Equal(t, []string{"patch bookstores shop"}, f.writes(t, mark), "its finalizer, and nothing is made again")
	f.patch(t, f.named(), `{"metadata":{"finalizers":null}}`)
	f.areGone(t)
	f.create(t)
	f.settle(t)
}

// testForegroundRemoval has the garbage collector at work before the operator is done.
func testForegroundRemoval(t *testing.T, process *operator.Process) {
	f := newFixture(t, process, noRetain)
	f.delete(t, client.PropagationPolicy(metav1.DeletePropagationForeground))
	f.areGone(t)
	for ordinal := range 2 {
		f.waitUntilGone(t, f.claimName(ordinal), &corev1.PersistentVolumeClaim{})
	}
}

// testSlowPod keeps a pod, whose claim stays as long as the pod.
func testSlowPod(t *testing.T, process *operator.Process) {
	f := newFixture(t, process, noRetain)
	f.patch(t, f.pod(t, 0), `{"metadata":{"finalizers":["example.org/hold"]}}`)
	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
	f.waitUntilGone(t, f.claimName(1), &corev1.PersistentVolumeClaim{})
	require.NotNil(t, f.claim(t, 0).DeletionTimestamp)
	f.patch(t, f.pod(t, 0), `{"metadata":{"finalizers":null}}`)
	f.areGone(t)
	f.waitUntilGone(t, f.claimName(0), &corev1.PersistentVolumeClaim{})
}

// testEarlyRemoval repeatedly deletes a BookStore right after its creation. A server that checks
// finalizers before it deletes misses a finalizer added in between.
func testEarlyRemoval(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	for range 10 {
		f.create(t)
		f.delete(t)
		f.waitUntilGone(t, f.name, f.named())
	}
	f.areGone(t)
	f.create(t)
	f.settle(t)
}

// testNamespaceRemoval deletes the whole namespace, children before their BookStore. The operator
// does not retry objects that cannot be created again.
func testNamespaceRemoval(t *testing.T, process *operator.Process) {
	f := newFixture(t, process, noRetain)
	mark := shared.Mark()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	require.NoError(t, admin(t).Delete(t.Context(), namespace))
	require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
		err := admin(t).Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return expect(apierrors.IsNotFound(err), "not gone: %v", err)
	}))
	total := 0
	for _, count := range f.allRequests(t, mark) {
		total += count
	}
	require.Less(t, total, 40, "%v", f.allRequests(t, mark))
	t.Logf("requests: %v", f.allRequests(t, mark))
}

// TestRemovalWhileDown deletes BookStores, and children of another, while no operator runs.
func TestRemovalWhileDown(t *testing.T) {
	longform.Only(t)
	first := start(t)
	keeps, loses, other := newFixture(t, first), newFixture(t, first, noRetain), newFixture(t, first)
	require.NoError(t, first.Stop())
	uids := keeps.uids(t)
	keeps.delete(t)
	loses.delete(t)
	require.NoError(t, admin(t).Delete(t.Context(), other.app(t)))
	require.NoError(t, admin(t).Delete(t.Context(), other.service(t, "shop-mongodb")))
	require.NotNil(t, keeps.store(t).DeletionTimestamp, "the finalizer keeps it")
	require.NotNil(t, loses.store(t).DeletionTimestamp, "the finalizer keeps it")

	other.operator = start(t)
	keeps.areGone(t)
	require.Equal(t, uids[keeps.claimName(1)], keeps.claim(t, 1).UID)
	loses.areGone(t)
	loses.waitUntilGone(t, loses.claimName(1), &corev1.PersistentVolumeClaim{})
	other.settle(t)
}
