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

// owns reports whether the set is, or is about to become, an owner of claims. They would be
// left to the garbage collector if the set were deleted then, and not to the new set.
func (db *database) owns() bool {
	return db.set != nil && (db.mayOwn() || slices.ContainsFunc(slices.Concat(db.volumes, db.foreign), db.isOwnerOf))
}

// mayOwn reports whether the set shall own claims, or whether the controller may not know yet that
// it shall not.
func (db *database) mayOwn() bool {
	policy := db.set.Spec.PersistentVolumeClaimRetentionPolicy
	return db.set.Status.ObservedGeneration < db.set.Generation ||
		policy != nil && policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

func (db *database) isOwnerOf(volume volume) bool {
	return slices.ContainsFunc(volume.claim.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.UID == db.set.UID
	})
}

// release removes the set from the owners of claims, once the controller no longer adds the set. The
// controller removes the set only from the claims of existing and ready pods.
func (r *Reconciler) release(ctx context.Context, db *database) error {
	if db.set == nil || db.mayOwn() {
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

// removeOwner removes an owner of a claim, as the garbage collector does. Concurrent writes to the
// claim, such as by the controller of the set, which does the same, or by the resizer, are no
// conflict. A deleted claim has no owner, even if another claim has its name.
func (r *Reconciler) removeOwner(ctx context.Context, claim *corev1.PersistentVolumeClaim, owner types.UID) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, claim.UID, owner)
	err := r.client.Patch(ctx, claim, client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.FieldOwner(Name))
	if err != nil && !isGone(err) {
		return err
	}
	claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(is metav1.OwnerReference) bool { return is.UID == owner })
	return nil
}

// isGone reports whether a patch that names a UID failed because the object is gone: the API
// server takes the UID of another one of that name for a change of a field that is immutable.
func isGone(err error) bool {
	if cause, invalid := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); invalid {
		return cause.Field == "metadata.uid"
	}
	return apierrors.IsNotFound(err)
}

// keepClaims lets the set be deleted without its claims, whatever its policy was before.
func (r *Reconciler) keepClaims(ctx context.Context, db *database) error {
	switch owned, err := r.disown(ctx, db); {
	case err != nil:
		return err
	case owned:
		return finalizer.Wait(patience, fmt.Sprintf("StatefulSet %q still owns claims that are to stay", db.set.Name))
	}
	return nil
}

// disown changes the set to own no claims, and reports whether it still owns some.
func (r *Reconciler) disown(ctx context.Context, db *database) (owned bool, err error) {
	if err := r.release(ctx, db); err != nil || !db.owns() {
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

// patch writes the changes since before, unless somebody else wrote first. A deleted object needs
// no change.
func (r *Reconciler) patch(ctx context.Context, before, after client.Object) error {
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.client.Patch(ctx, after, changes, client.FieldOwner(Name)))
}
