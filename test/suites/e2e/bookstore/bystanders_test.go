package bookstore_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// TestForeignClaim creates another program's claim under the name of a database claim: no pod
// mounts it, the operator does not write it, and the database continues once the claim is gone.
func TestForeignClaim(t *testing.T) {
	f := newEmptyFixture(t, nil)
	stranger := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.claimName(1), Labels: map[string]string{"app": "other"}},
		Spec:       f.claimSpec("1Gi"),
	}
	require.NoError(t, admin(t).Create(t.Context(), stranger))
	f.operator = start(t) // which knows the claim before it hears of the BookStore
	f.create(t)
	is := f.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonForeignClaim)
	require.Contains(t, is.Message, f.claimName(1))
	eventually(t, func(context.Context) error {
		return expect(f.set(t).Status.ReadyReplicas == 1, "the first database does not run")
	})
	require.EqualValues(t, 1, *f.set(t).Spec.Replicas)

	eventually(t, func(context.Context) error {
		return expect(f.claim(t, 1).Status.Phase == corev1.ClaimBound, "the stranger's has no volume")
	})
	bound := f.claim(t, 1)
	f.grow(t, "3Gi")
	eventually(t, func(context.Context) error {
		return expect(has(f.claim(t, 0)) == "3Gi", "the database's own does not grow")
	})
	f.waitForReason(t, v1alpha1.DatabaseReadyCondition, v1alpha1.ReasonForeignClaim)
	f.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonForeignClaim)
	f.reconcile(t)
	require.Empty(t, cmp.Diff(bound, f.claim(t, 1)), "the stranger's is as it was")

	require.NoError(t, admin(t).Delete(t.Context(), stranger))
	f.settle(t)
	require.Equal(t, "3Gi", has(f.claim(t, 1)))
	require.EqualValues(t, 2, *f.set(t).Spec.Replicas)
}

// TestForeignPod has a pod that is not the database's mount a claim that is.
func TestForeignPod(t *testing.T) {
	f := newFixture(t, start(t))
	f.change(t, `{"bookDB":{"replicas":1}}`)
	f.waitUntilGone(t, "shop-mongodb-1", &corev1.Pod{})
	stranger := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "backup"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "backup", Image: "backup"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: f.claimName(1)},
			}}},
		},
	}
	require.NoError(t, admin(t).Create(t.Context(), stranger))
	f.waitForVolumes(t, 1)
	f.grow(t, "3Gi")
	f.settle(t)
	require.Equal(t, "3Gi", has(f.claim(t, 0)))
	require.Equal(t, "2Gi", asks(f.claim(t, 1)), "what a stranger mounts is left alone")

	require.NoError(t, admin(t).Delete(t.Context(), stranger))
	f.waitUntilGone(t, "backup", &corev1.Pod{})
	eventually(t, func(context.Context) error {
		return expect(asks(f.claim(t, 1)) == "3Gi", "what an earlier replica left does not grow")
	})
}

// waitForVolumes waits until the operator counts this many volumes as the database's, that is,
// until it has seen which pods mount the other volumes. Events of pods and of BookStores arrive in
// no defined order.
func (f fixture) waitForVolumes(t *testing.T, want int) {
	t.Helper()
	eventually(t, func(context.Context) error {
		volumes := f.store(t).Status.Volumes
		return expect(len(volumes) == want, "%d volumes: %+v", len(volumes), volumes)
	})
}

// TestForeignFirstClaim leaves no room for any database: the BookStore is not ready without.
func TestForeignFirstClaim(t *testing.T) {
	f := newEmptyFixture(t, nil)
	require.NoError(t, admin(t).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.claimName(0), Labels: map[string]string{"app": "other"}},
		Spec:       f.claimSpec("1Gi"),
	}))
	f.operator = start(t)
	f.create(t)
	f.settleForeign(t)
	store := f.store(t)
	require.NotEqual(t, metav1.ConditionTrue, condition(store, v1alpha1.ReadyCondition).Status, "no database runs")
}

func (f fixture) settleForeign(t *testing.T) {
	t.Helper()
	f.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonForeignClaim)
	eventually(t, func(context.Context) error {
		return expect(condition(f.store(t), v1alpha1.AppReadyCondition).Status == metav1.ConditionTrue, "app")
	})
	f.reconcile(t)
}

// TestSetDeleted deletes the set, whose pods take their time to go: they are no strangers to
// the new one.
func TestSetDeleted(t *testing.T) {
	f := newFixture(t, start(t))
	for ordinal := range 2 {
		f.patch(t, f.pod(t, ordinal), `{"metadata":{"finalizers":["example.org/hold"]}}`)
	}
	old := f.set(t)
	require.NoError(t, admin(t).Delete(t.Context(), old, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	defer func() {
		for ordinal := range 2 {
			f.patch(t, f.pod(t, ordinal), `{"metadata":{"finalizers":null}}`)
		}
		f.settle(t)
	}()
	var anew *appsv1.StatefulSet
	eventually(t, func(ctx context.Context) error {
		anew = &appsv1.StatefulSet{}
		if err := admin(t).Get(ctx, client.ObjectKeyFromObject(old), anew); err != nil {
			return err
		}
		return expect(anew.UID != old.UID, "the old one")
	})
	f.reconcile(t)
	store := f.store(t)
	require.EqualValues(t, 2, *f.set(t).Spec.Replicas)
	require.NotEqual(t, v1alpha1.ReasonForeignClaim, condition(store, v1alpha1.VolumeResizedCondition).Reason)
}

// TestLabelledStranger has a pod without an owner, with the database's labels, mount one of the
// database's claims.
func TestLabelledStranger(t *testing.T) {
	f := newFixture(t, startWith(t, installed(t), "--restart-after=1s"), func(store *v1alpha1.BookStore) {
		store.Spec.BookDB.RestartForResize = true
	})
	f.change(t, `{"bookDB":{"replicas":1}}`)
	f.waitUntilGone(t, f.podName(1), &corev1.Pod{})
	f.settle(t)
	stranger := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "backup", Labels: selectorOf(f.name, "database")},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "backup", Image: "backup"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: f.claimName(1)},
			}}},
		},
	}
	require.NoError(t, admin(t).Create(t.Context(), stranger))
	f.waitForVolumes(t, 1)
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	f.grow(t, "3Gi")
	f.settle(t)
	f.reconcile(t)
	require.Equal(t, "2Gi", asks(f.claim(t, 1)), "what a stranger mounts is left alone")
	require.NoError(t, admin(t).Get(t.Context(), client.ObjectKeyFromObject(stranger), stranger))
}

// TestLabelTaken changes the label by which the operator's cache finds the set.
func TestLabelTaken(t *testing.T) {
	f := newFixture(t, start(t))
	before := f.uids(t)
	f.patch(t, f.set(t), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`)
	eventually(t, func(context.Context) error {
		return expect(f.set(t).Labels["app.kubernetes.io/managed-by"] == "bookstore-operator", "label")
	})
	f.settle(t)
	eventually(t, func(context.Context) error {
		return expect(f.set(t).Status.AvailableReplicas == 2 && f.set(t).Status.ObservedGeneration == f.set(t).Generation, "not up")
	})
	require.Empty(t, cmp.Diff(before, f.uids(t)), "pods were killed")
}
