package controller

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownsClaims reports whether the set owns claims or may soon own claims. If such a set is deleted, the
// garbage collector deletes the claims.
func (db *database) ownsClaims() bool {
	return db.set != nil && (db.mayOwnClaims() || slices.ContainsFunc(slices.Concat(db.volumes, db.foreign), func(volume volume) bool {
		return slices.ContainsFunc(volume.claim.OwnerReferences, db.isSet)
	}))
}

// mayOwnClaims reports whether the policy of the set is Delete, or whether the controller of the set may
// not have observed another policy yet.
func (db *database) mayOwnClaims() bool {
	return db.set.Status.ObservedGeneration < db.set.Generation || deletesClaims(db.set)
}

func deletesClaims(set *appsv1.StatefulSet) bool {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	return policy != nil && policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

func (db *database) isSet(owner metav1.OwnerReference) bool { return owner.UID == db.set.UID }

// releaseClaims removes owner references to the set from all claims, once the controller of the set no
// longer adds them. The controller itself removes them only from the claims of pods that are ready.
//
// The patch is that of the garbage collector. Concurrent writes, for example by the resizer, cause no
// conflict. A claim that is gone is no error.
func (r *Reconciler) releaseClaims(ctx context.Context, db *database) error {
	if db.set == nil || db.mayOwnClaims() {
		return nil
	}
	for _, volume := range slices.Concat(db.volumes, db.foreign) {
		claim := volume.claim
		if !slices.ContainsFunc(claim.OwnerReferences, db.isSet) {
			continue
		}
		patch := fmt.Sprintf(`{"metadata":{"uid":%q,"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, claim.UID, db.set.UID)
		err := r.client.Patch(ctx, claim, client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.FieldOwner(Name))
		if err != nil && !isGone(err) {
			return err
		}
		claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, db.isSet)
	}
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

// disownClaims changes the set to own no claims, and reports whether the set still owns some. The patch
// fails if the set has changed meanwhile. A set that is gone is no error.
func (r *Reconciler) disownClaims(ctx context.Context, db *database) (owned bool, err error) {
	if err := r.releaseClaims(ctx, db); err != nil || !db.ownsClaims() {
		return false, err
	}
	if deletesClaims(db.set) {
		changes := client.MergeFromWithOptions(db.set.DeepCopy(), client.MergeFromWithOptimisticLock{})
		db.set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		err = client.IgnoreNotFound(r.client.Patch(ctx, db.set, changes, client.FieldOwner(Name)))
	}
	return true, err
}
