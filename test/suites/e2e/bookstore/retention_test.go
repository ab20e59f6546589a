package bookstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
)

// TestRetainAtLast asks for that right before the BookStore is deleted: the operator sees both
// at once.
func TestRetainAtLast(t *testing.T) {
	process := start(t)
	f := newFixture(t, process, retaining(false))
	eventually(t, func(context.Context) error {
		return expect(len(f.claim(t, 0).OwnerReferences) == 1 && len(f.claim(t, 1).OwnerReferences) == 1, "not owned")
	})
	require.NoError(t, process.Stop())
	f.change(t, `{"bookDB":{"retain":true}}`)
	f.delete(t)
	start(t)
	f.areGone(t)
	for ordinal := range 2 {
		claim := f.claim(t, ordinal)
		require.Nil(t, claim.DeletionTimestamp, "claim goes: %v", claim.OwnerReferences)
		require.Empty(t, claim.OwnerReferences)
	}
}

// TestRetainEarlierReplica asks for that when a replica is gone, whose claim the set goes on
// to own.
func TestRetainEarlierReplica(t *testing.T) {
	f := newFixture(t, start(t), retaining(false))
	eventually(t, func(context.Context) error {
		return expect(len(f.claim(t, 0).OwnerReferences) == 1 && len(f.claim(t, 1).OwnerReferences) == 1, "not owned")
	})
	f.change(t, `{"bookDB":{"replicas":1}}`)
	f.waitUntilGone(t, f.podName(1), &corev1.Pod{})
	f.settle(t)
	f.change(t, `{"bookDB":{"retain":true}}`)
	f.settle(t)
	eventually(t, func(context.Context) error {
		return expect(len(f.claim(t, 0).OwnerReferences) == 0, "still owned")
	})
	uid := f.claim(t, 1).UID
	f.delete(t)
	f.areGone(t)
	f.waitForCollector(t)
	claim := f.claim(t, 1)
	require.Nil(t, claim.DeletionTimestamp)
	require.Equal(t, uid, claim.UID)
}

// waitForCollector waits until the garbage collector has dealt with the owners of the second
// claim.
func (f fixture) waitForCollector(t *testing.T) {
	t.Helper()
	require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
		claim := &corev1.PersistentVolumeClaim{}
		err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: f.claimName(1)}, claim)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		return expect(len(claim.OwnerReferences) == 0 || claim.DeletionTimestamp != nil, "%v", claim.OwnerReferences)
	}))
}

// TestGrowWhileUnready resizes a volume while a pod is not ready, which is when a resize is needed
// most: the set's controller does not give up its claim.
func TestGrowWhileUnready(t *testing.T) {
	f := newFixture(t, start(t), retaining(false))
	f.crash(t)
	f.grow(t, "3Gi")
	eventually(t, func(ctx context.Context) error {
		set := &appsv1.StatefulSet{}
		if err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "shop-mongodb"}, set); err != nil {
			return err
		}
		return expect(template(set) == "3Gi", "template %s", template(set))
	})
}

// crash has the second database crash.
func (f fixture) crash(t *testing.T) {
	t.Helper()
	old := f.pod(t, 1).UID
	f.change(t, `{"bookDB":{"tag":"crashing"}}`)
	eventually(t, func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: f.podName(1)}, pod); err != nil {
			return err
		}
		return expect(pod.UID != old && len(pod.Status.ContainerStatuses) > 0 && !pod.Status.ContainerStatuses[0].Ready, "%+v", pod.Status)
	})
	f.waitForReason(t, v1alpha1.DatabaseReadyCondition, "CrashLoopBackOff")
}

// TestRetainHidden deletes a BookStore whose set is missing from the operator's cache: a user
// changed its selecting label while no operator ran.
func TestRetainHidden(t *testing.T) {
	longform.Only(t)
	process := start(t)
	f := newFixture(t, process, retaining(false))
	require.NoError(t, process.Stop())
	f.patch(t, f.set(t), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`)
	f.change(t, `{"bookDB":{"retain":true}}`)
	f.delete(t)
	start(t)
	require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
		return expect(client.IgnoreNotFound(admin(t).Get(ctx, client.ObjectKeyFromObject(f.named()), f.named())) == nil &&
			admin(t).Get(ctx, client.ObjectKeyFromObject(f.named()), f.named()) != nil, "still there")
	}))
	f.areGone(t)
	require.Nil(t, f.claim(t, 0).DeletionTimestamp)
	require.Empty(t, f.claim(t, 0).OwnerReferences)
}
