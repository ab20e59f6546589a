package bookstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// TestRetainAtLast asks for that right before the BookStore is deleted: the operator sees both
// at once.
func TestRetainAtLast(t *testing.T) {
	process := start(t)
	s := newScene(t, process, retaining(false))
	eventually(t, func(context.Context) error {
		return expect(len(s.claim(t, 0).OwnerReferences) == 1 && len(s.claim(t, 1).OwnerReferences) == 1, "not owned")
	})
	require.NoError(t, process.Stop())
	s.change(t, `{"bookDB":{"retain":true}}`)
	s.delete(t)
	start(t)
	s.areGone(t)
	for ordinal := range 2 {
		claim := s.claim(t, ordinal)
		require.Nil(t, claim.DeletionTimestamp, "claim goes: %v", claim.OwnerReferences)
		require.Empty(t, claim.OwnerReferences)
	}
}

// TestRetainEarlierReplica asks for that when a replica is gone, whose claim the set goes on
// to own.
func TestRetainEarlierReplica(t *testing.T) {
	s := newScene(t, start(t), retaining(false))
	eventually(t, func(context.Context) error {
		return expect(len(s.claim(t, 0).OwnerReferences) == 1 && len(s.claim(t, 1).OwnerReferences) == 1, "not owned")
	})
	s.change(t, `{"bookDB":{"replicas":1}}`)
	s.waitUntilGone(t, s.podName(1), &corev1.Pod{})
	s.settle(t)
	s.change(t, `{"bookDB":{"retain":true}}`)
	s.settle(t)
	eventually(t, func(context.Context) error {
		return expect(len(s.claim(t, 0).OwnerReferences) == 0, "still owned")
	})
	uid := s.claim(t, 1).UID
	s.delete(t)
	s.areGone(t)
	s.waitForCollector(t)
	claim := s.claim(t, 1)
	require.Nil(t, claim.DeletionTimestamp)
	require.Equal(t, uid, claim.UID)
}

// waitForCollector waits until the garbage collector has dealt with the owners of the second
// claim.
func (s scene) waitForCollector(t *testing.T) {
	t.Helper()
	require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
		claim := &corev1.PersistentVolumeClaim{}
		err := human(t).Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.claimName(1)}, claim)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		return expect(len(claim.OwnerReferences) == 0 || claim.DeletionTimestamp != nil, "%v", claim.OwnerReferences)
	}))
}

// TestGrowWhileUnready resizes a volume while a pod is not ready, which is when a resize is needed
// most: the set's controller does not give up its claim.
func TestGrowWhileUnready(t *testing.T) {
	s := newScene(t, start(t), retaining(false))
	s.crash(t)
	s.grow(t, "3Gi")
	eventually(t, func(ctx context.Context) error {
		set := &appsv1.StatefulSet{}
		if err := human(t).Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "shop-mongodb"}, set); err != nil {
			return err
		}
		return expect(template(set) == "3Gi", "template %s", template(set))
	})
}

// crash has the second database crash.
func (s scene) crash(t *testing.T) {
	t.Helper()
	old := s.pod(t, 1).UID
	s.change(t, `{"bookDB":{"tag":"crashing"}}`)
	eventually(t, func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := human(t).Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.podName(1)}, pod); err != nil {
			return err
		}
		return expect(pod.UID != old && len(pod.Status.ContainerStatuses) > 0 && !pod.Status.ContainerStatuses[0].Ready, "%+v", pod.Status)
	})
	s.waitForReason(t, v1alpha1.DatabaseReadyCondition, "InProgress")
}

// TestRetainHidden deletes a BookStore whose set is missing from the operator's cache: a person
// changed its selecting label while no operator ran.
func TestRetainHidden(t *testing.T) {
	process := start(t)
	s := newScene(t, process, retaining(false))
	require.NoError(t, process.Stop())
	s.patch(t, s.set(t), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`)
	s.change(t, `{"bookDB":{"retain":true}}`)
	s.delete(t)
	start(t)
	require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
		return expect(client.IgnoreNotFound(human(t).Get(ctx, client.ObjectKeyFromObject(s.named()), s.named())) == nil &&
			human(t).Get(ctx, client.ObjectKeyFromObject(s.named()), s.named()) != nil, "still there")
	}))
	s.areGone(t)
	require.Nil(t, s.claim(t, 0).DeletionTimestamp)
	require.Empty(t, s.claim(t, 0).OwnerReferences)
}
