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
func (s scene) areGone(t *testing.T) {
	t.Helper()
	s.waitUntilGone(t, s.name, s.named())
	require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
		for _, list := range []client.ObjectList{
			&corev1.ServiceList{}, &appsv1.StatefulSetList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{},
		} {
			if err := human(t).List(ctx, list, client.InNamespace(s.namespace)); err != nil {
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
	s := newScene(t, process)
	earlier, mark := s.uids(t), shared.Mark()
	s.delete(t)
	s.areGone(t)
	require.Equal(t, []string{"patch bookstores shop"}, s.writes(t, mark), "the garbage collector does the rest")
	for ordinal := range 2 {
		require.Equal(t, earlier[s.claimName(ordinal)], s.claim(t, ordinal).UID)
		require.Empty(t, s.claim(t, ordinal).OwnerReferences)
		require.Nil(t, s.claim(t, ordinal).DeletionTimestamp)
	}
	s.create(t)
	s.settle(t)
	for ordinal := range 2 {
		require.Equal(t, earlier[s.claimName(ordinal)], s.claim(t, ordinal).UID)
		require.Equal(t, earlier[s.claimName(ordinal)], s.store(t).Status.Volumes[ordinal].UID)
	}
}

// testNoRetain has three databases, then two, then none.
func testNoRetain(t *testing.T, process *operator.Process) {
	s := newScene(t, process, noRetain, func(store *v1alpha1.BookStore) { store.Spec.BookDB.Replicas = 3 })
	s.change(t, `{"bookDB":{"replicas":2}}`)
	s.settle(t)
	require.Len(t, s.store(t).Status.Volumes, 3, "that of the earlier replica is known")
	s.delete(t)
	s.areGone(t)
	for ordinal := range 3 {
		s.waitUntilGone(t, s.claimName(ordinal), &corev1.PersistentVolumeClaim{})
	}
	s.create(t)
	s.settle(t)
}

// testRetainNoMore changes the policy in the last moment, each way.
func testRetainNoMore(t *testing.T, process *operator.Process) {
	s := newScene(t, process)
	s.change(t, `{"bookDB":{"retain":false}}`)
	s.settle(t)
	s.change(t, `{"bookDB":{"retain":true}}`)
	s.settle(t)
	uids := s.uids(t)
	s.delete(t)
	s.areGone(t)
	require.Equal(t, uids[s.claimName(1)], s.claim(t, 1).UID)

	s.create(t, noRetain, func(store *v1alpha1.BookStore) { store.Spec.BookDB.Replicas = 1 })
	s.settle(t)
	s.delete(t)
	s.areGone(t)
	for ordinal := range 2 {
		s.waitUntilGone(t, s.claimName(ordinal), &corev1.PersistentVolumeClaim{})
	}
}

// testForeignFinalizer also shows that nothing is made again while the BookStore goes.
func testForeignFinalizer(t *testing.T, process *operator.Process) {
	s := newScene(t, process)
	s.patch(t, s.named(), `{"metadata":{"finalizers":["example.org/hold","`+v1alpha1.Finalizer+`"]}}`)
	s.settle(t)
	mark := shared.Mark()
	s.delete(t)
	eventually(t, func(context.Context) error {
		left := s.store(t).Finalizers
		return expect(slices.Equal(left, []string{"example.org/hold"}), "%v", left)
	})
	eventually(t, func(context.Context) error {
		message := condition(s.store(t), v1alpha1.ReadyCondition).Message
		return expect(strings.Contains(message, "somebody else's finalizer is left"), "%s", message)
	})
	s.waitForReason(t, v1alpha1.ReadyCondition, "Terminating")
	require.NoError(t, human(t).Delete(t.Context(), s.app(t)))
	require.NoError(t, human(t).Delete(t.Context(), s.service(t, "shop-app")))
	s.reconcile(t)
	s.isAbsent(t, "shop-app", &corev1.Service{})
	s.isAbsent(t, "shop-app", &appsv1.Deployment{})
	require.Equal(t, []string{"patch bookstores shop"}, s.writes(t, mark), "its finalizer, and nothing is made again")
	s.patch(t, s.named(), `{"metadata":{"finalizers":null}}`)
	s.areGone(t)
	s.create(t)
	s.settle(t)
}

// testForegroundRemoval has the garbage collector at work before the operator is done.
func testForegroundRemoval(t *testing.T, process *operator.Process) {
	s := newScene(t, process, noRetain)
	s.delete(t, client.PropagationPolicy(metav1.DeletePropagationForeground))
	s.areGone(t)
	for ordinal := range 2 {
		s.waitUntilGone(t, s.claimName(ordinal), &corev1.PersistentVolumeClaim{})
	}
}

// testSlowPod keeps a pod, whose claim stays as long as the pod.
func testSlowPod(t *testing.T, process *operator.Process) {
	s := newScene(t, process, noRetain)
	s.patch(t, s.pod(t, 0), `{"metadata":{"finalizers":["example.org/hold"]}}`)
	s.delete(t)
	s.waitUntilGone(t, s.name, s.named())
	s.waitUntilGone(t, s.claimName(1), &corev1.PersistentVolumeClaim{})
	require.NotNil(t, s.claim(t, 0).DeletionTimestamp)
	s.patch(t, s.pod(t, 0), `{"metadata":{"finalizers":null}}`)
	s.areGone(t)
	s.waitUntilGone(t, s.claimName(0), &corev1.PersistentVolumeClaim{})
}

// testEarlyRemoval repeatedly deletes a BookStore right after its creation. A server that checks
// finalizers before it deletes misses a finalizer added in between.
func testEarlyRemoval(t *testing.T, process *operator.Process) {
	s := emptyScene(t, process)
	for range 10 {
		s.create(t)
		s.delete(t)
		s.waitUntilGone(t, s.name, s.named())
	}
	s.areGone(t)
	s.create(t)
	s.settle(t)
}

// testNamespaceRemoval deletes the whole namespace, children before their BookStore. The operator
// does not retry objects that cannot be created again.
func testNamespaceRemoval(t *testing.T, process *operator.Process) {
	s := newScene(t, process, noRetain)
	mark := shared.Mark()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	require.NoError(t, human(t).Delete(t.Context(), namespace))
	require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
		err := human(t).Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return expect(apierrors.IsNotFound(err), "not gone: %v", err)
	}))
	total := 0
	for _, count := range s.allRequests(t, mark) {
		total += count
	}
	require.Less(t, total, 40, "%v", s.allRequests(t, mark))
	t.Logf("requests: %v", s.allRequests(t, mark))
}

// TestRemovalWhileDown deletes BookStores, and children of another, while no operator runs.
func TestRemovalWhileDown(t *testing.T) {
	first := start(t)
	keeps, loses, other := newScene(t, first), newScene(t, first, noRetain), newScene(t, first)
	require.NoError(t, first.Stop())
	uids := keeps.uids(t)
	keeps.delete(t)
	loses.delete(t)
	require.NoError(t, human(t).Delete(t.Context(), other.app(t)))
	require.NoError(t, human(t).Delete(t.Context(), other.service(t, "shop-mongodb")))
	require.NotNil(t, keeps.store(t).DeletionTimestamp, "the finalizer keeps it")
	require.NotNil(t, loses.store(t).DeletionTimestamp, "the finalizer keeps it")

	other.operator = start(t)
	keeps.areGone(t)
	require.Equal(t, uids[keeps.claimName(1)], keeps.claim(t, 1).UID)
	loses.areGone(t)
	loses.waitUntilGone(t, loses.claimName(1), &corev1.PersistentVolumeClaim{})
	other.settle(t)
}
