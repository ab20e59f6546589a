package controller

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/finalizer"
)

// ownsClaims reports whether the set owns claims or may soon own claims. If such a set is deleted, the
// garbage collector deletes the claims.
func (db *database) ownsClaims() bool {
	return db.set != nil && (db.mayOwnClaims() || slices.ContainsFunc(slices.Concat(db.volumes, db.foreign), db.isOwnerOf))
}

// mayOwnClaims reports whether the policy of the set is Delete, or whether the controller of the set may
// not have observed another policy yet.
func (db *database) mayOwnClaims() bool {
	policy := db.set.Spec.PersistentVolumeClaimRetentionPolicy
	return db.set.Status.ObservedGeneration < db.set.Generation ||
		policy != nil && policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

func (db *database) isOwnerOf(volume volume) bool {
	return slices.ContainsFunc(volume.claim.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.UID == db.set.UID
	})
}

// releaseClaims removes owner references to the set from all claims, once the controller of the set no
// longer adds them. The controller itself removes them only from the claims of pods that are ready.
func (r *Reconciler) releaseClaims(ctx context.Context, db *database) error {
	if db.set == nil || db.mayOwnClaims() {
		return nil
	}
	for _, volume := range slices.Concat(db.volumes, db.foreign) {
		if !db.isOwnerOf(volume) {
			continue
		}
		if err := r.removeOwner(ctx, volume.claim, db.set.UID); err != nil {
			return err
		}
	}
	return nil
}

// removeOwner removes an owner reference from a claim, with the same patch as the garbage collector.
// Concurrent writes, for example by the resizer, cause no conflict. A claim that is gone is no error.
func (r *Reconciler) removeOwner(ctx context.Context, claim *corev1.PersistentVolumeClaim, owner types.UID) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, claim.UID, owner)
	err := r.client.Patch(ctx, claim, client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.FieldOwner(Name))
	if err != nil && !isGone(err) {
		return err
	}
	claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == owner })
	return nil
}

// isGone reports whether a patch with a UID failed because the object is gone. If another object has the
// name, the API server reports a change of the immutable UID.
func isGone(err error) bool {
	if cause, invalid := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); invalid {
		return cause.Field == "metadata.uid"
	}
	return apierrors.IsNotFound(err)
}

// keepClaims ensures that the deletion of the set does not delete claims.
func (r *Reconciler) keepClaims(ctx context.Context, db *database) error {
	switch owned, err := r.disownClaims(ctx, db); {
	case err != nil:
		return err
	case owned:
		return finalizer.NotDone(deletionPollInterval, fmt.Sprintf("StatefulSet %q still owns claims that must be retained", db.set.Name))
	}
	return nil
}

// disownClaims changes the set to own no claims, and reports whether the set still owns some.
func (r *Reconciler) disownClaims(ctx context.Context, db *database) (owned bool, err error) {
	if err := r.releaseClaims(ctx, db); err != nil || !db.ownsClaims() {
		return false, err
	}
	policy := db.set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy != nil && policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		before := db.set.DeepCopy()
		policy.WhenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		if err := r.patch(ctx, before, db.set); err != nil {
			return true, err
		}
	}
	return true, nil
}

// patch writes the difference between before and after, and fails if the object has changed meanwhile. An
// object that is gone is no error.
func (r *Reconciler) patch(ctx context.Context, before, after client.Object) error {
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.client.Patch(ctx, after, changes, client.FieldOwner(Name)))
}
