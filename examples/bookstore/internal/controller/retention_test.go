package controller //nolint:testpackage // tests unexported functions

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestReleaseClaims writes to a claim after the operator has read it, which is no conflict.
func TestReleaseClaims(t *testing.T) {
	set := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "shop-mongodb", UID: "set"}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"}
	for name, meanwhile := range map[string]func(*corev1.PersistentVolumeClaim){
		"no write":                           func(*corev1.PersistentVolumeClaim) {},
		"the resizer writes":                 func(claim *corev1.PersistentVolumeClaim) { claim.Annotations = map[string]string{"resized": "yes"} },
		"the controller of the set is first": func(claim *corev1.PersistentVolumeClaim) { claim.OwnerReferences = []metav1.OwnerReference{other} },
	} {
		t.Run(name, func(t *testing.T) {
			c, r := reconcilerWith(t, namesAfterTeam)
			claim := claimCalled(firstClaim)
			claim.Namespace, claim.UID, claim.OwnerReferences = "default", "claim", []metav1.OwnerReference{set, other}
			require.NoError(t, c.Create(t.Context(), &claim))
			read := claim.DeepCopy()
			meanwhile(&claim)
			require.NoError(t, c.Update(t.Context(), &claim))

			db := &database{set: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: set.UID}}, volumes: []volume{{claim: read}}}
			require.NoError(t, r.releaseClaims(t.Context(), db))
			require.False(t, db.ownsClaims())
			live := &corev1.PersistentVolumeClaim{}
			require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(&claim), live))
			require.Empty(t, cmp.Diff([]metav1.OwnerReference{other}, live.OwnerReferences))
			require.Empty(t, cmp.Diff(claim.Annotations, live.Annotations))
		})
	}
}

// TestReleaseGoneClaim releases a claim that somebody deleted after the operator has read it.
func TestReleaseGoneClaim(t *testing.T) {
	_, r := reconcilerWith(t, namesAfterTeam)
	claim := shopClaim(firstClaim)
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "shop-mongodb", UID: "set"}}
	db := &database{set: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "set"}}, volumes: []volume{{claim: claim}}}
	require.NoError(t, r.releaseClaims(t.Context(), db))
	require.False(t, db.ownsClaims())
}

func TestIsGone(t *testing.T) {
	claims, kind := corev1.Resource("persistentvolumeclaims"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind()
	invalid := func(at *field.Path) error {
		return apierrors.NewInvalid(kind, firstClaim, field.ErrorList{field.Invalid(at, "other", "field is immutable")})
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"gone":      {apierrors.NewNotFound(claims, firstClaim), true},
		"replaced":  {invalid(field.NewPath("metadata", "uid")), true},
		"invalid":   {invalid(field.NewPath("spec")), false},
		"conflict":  {apierrors.NewConflict(claims, firstClaim, nil), false},
		"no answer": {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, isGone(test.err)) })
	}
}

// TestEnsureStorageOfDeletedSet has a set that is being deleted. The operator need not wait for the
// controller of the set.
func TestEnsureStorageOfDeletedSet(t *testing.T) {
	deleted := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{}}}}
	desired := deleted.DeepCopy()
	writeStorage(storeCalled("shop"), desired)
	want := desired.DeepCopy()
	deleted.Generation, deleted.DeletionTimestamp = 2, new(metav1.Now())
	_, r := reconcilerWith(t, namesAfterTeam)
	require.NoError(t, r.ensureStorage(t.Context(), &database{set: deleted}, desired))
	require.Empty(t, cmp.Diff(want, desired))

	deleted.DeletionTimestamp = nil
	require.ErrorContains(t, r.ensureStorage(t.Context(), &database{set: deleted}, desired), "is recreated once it owns no claims")
}
