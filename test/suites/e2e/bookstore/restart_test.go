package bookstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// TestOffline has a driver that cannot resize a mounted file system: the condition names the pod to
// restart.
func TestOffline(t *testing.T) {
	f := newFixture(t, start(t))
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	f.grow(t, "3Gi")
	for _, ordinal := range []int{0, 1} {
		is := f.waitForMessage(t, v1alpha1.ReasonFileSystemResizePending, f.claimName(ordinal))
		pod := f.pod(t, ordinal)
		require.Contains(t, is.Message, `restart pod "`+pod.Name+`" to finish`)
		eventually(t, func(context.Context) error { return isTrue(f.store(t), v1alpha1.ReadyCondition) }) // it works
		require.NoError(t, admin(t).Delete(t.Context(), pod))
		f.waitForAnotherPod(t, ordinal, pod.UID)
	}
	f.settle(t)
	require.Equal(t, "3Gi", has(f.claim(t, 1)))
}

// TestRestartForResize has the operator do that, one pod at a time and each once.
func TestRestartForResize(t *testing.T) {
	f := newFixture(t, startWith(t, installed(t), "--restart-after=1s"), func(store *v1alpha1.BookStore) {
		store.Spec.BookDB.RestartForResize = true
	})
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	before := []*corev1.Pod{f.pod(t, 0), f.pod(t, 1)}
	claims := []types.UID{f.claim(t, 0).UID, f.claim(t, 1).UID}
	mark := shared.Mark()
	f.grow(t, "3Gi")
	f.settle(t)
	for ordinal := range 2 {
		require.NotEqual(t, before[ordinal].UID, f.pod(t, ordinal).UID)
		require.Equal(t, claims[ordinal], f.claim(t, ordinal).UID)
		require.Equal(t, "3Gi", has(f.claim(t, ordinal)))
	}
	require.Equal(t, 2, f.requests(t, mark)["delete pods"])
}

// TestNoRestart has a pod that the operator must not restart, although restarts are allowed: its
// claim would be deleted with it.
func TestNoRestart(t *testing.T) {
	f := newFixture(t, startWith(t, installed(t), "--restart-after=1s"), func(store *v1alpha1.BookStore) {
		store.Spec.BookDB.RestartForResize = true
		store.Spec.BookDB.Replicas = 1
	})
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	require.NoError(t, admin(t).Delete(t.Context(), f.claim(t, 0)))
	is := f.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonClaimTerminating)
	require.Contains(t, is.Message, `the data is lost when pod "shop-mongodb-0" is deleted`)

	pod := f.pod(t, 0)
	mark := shared.Mark()
	f.grow(t, "3Gi")
	eventually(t, func(ctx context.Context) error {
		var set appsv1.StatefulSet
		if err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: f.name + "-mongodb"}, &set); err != nil {
			return err
		}
		return expect(template(&set) == "3Gi", "the set is not re-created")
	})
	f.reconcile(t)
	require.Equal(t, pod.UID, f.pod(t, 0).UID)
	require.Equal(t, "2Gi", asks(f.claim(t, 0)), "what goes is left alone")
	require.Zero(t, f.requests(t, mark)["delete pods"])

	// A user who wants to discard the data restarts the pod: it gets a new claim of the new size.
	require.NoError(t, admin(t).Delete(t.Context(), pod))
	f.waitForAnotherPod(t, 0, pod.UID)
	f.settle(t)
	require.Equal(t, "3Gi", has(f.claim(t, 0)))
}

// TestOnePodAtATime has nobody make pods again for a while: the set's status knows of no pod
// that is gone.
func TestOnePodAtATime(t *testing.T) {
	f := newFixture(t, startWith(t, installed(t), "--restart-after=1s"))
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	f.grow(t, "3Gi")
	for ordinal := range 2 {
		f.waitForMessage(t, v1alpha1.ReasonFileSystemResizePending, f.claimName(ordinal))
	}
	eventually(t, func(context.Context) error {
		set := &appsv1.StatefulSet{}
		if err := admin(t).Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: f.name + "-mongodb"}, set); err != nil {
			return err
		}
		if template(set) != "3Gi" || set.Status.AvailableReplicas != 2 {
			return expect(false, "not made again")
		}
		return isTrue(f.store(t), v1alpha1.ReadyCondition)
	})
	require.NoError(t, shared.Kill(cluster.ControllerManager))
	t.Cleanup(func() {
		require.NoError(t, shared.Restart(context.WithoutCancel(t.Context()), cluster.ControllerManager))
	})
	mark := shared.Mark()
	f.change(t, `{"bookDB":{"restartForResize":true}}`)
	f.waitUntilGone(t, f.podName(0), &corev1.Pod{})
	f.reconcile(t)
	f.reconcile(t)
	require.Equal(t, 1, f.requests(t, mark)["delete pods"])
}

// TestRestartWhatIsDown restarts a pod that waits for its file system and is not ready because its
// disk is full.
func TestRestartWhatIsDown(t *testing.T) {
	longform.Only(t)
	f := newFixture(t, startWith(t, installed(t), "--restart-after=1s"), func(store *v1alpha1.BookStore) {
		store.Spec.BookDB.RestartForResize = true
	})
	f.crash(t)
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	first, second := f.pod(t, 0).UID, f.pod(t, 1)
	f.grow(t, "3Gi")
	eventually(t, func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: f.podName(1)}, pod); err != nil {
			return err
		}
		return expect(pod.UID != second.UID, "not restarted")
	})
	require.Equal(t, first, f.pod(t, 0).UID)
}
