package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// storage has the settings of the StatefulSet for volumes. A claim template is immutable. For another
// template, the operator deletes the set without the pods and creates a new set. The template stays until
// the claims have changed, or forever if they cannot change. Other fields of the set change at once.
type storage struct {
	replicas    int32
	size        resource.Quantity
	class       *string
	whenDeleted appsv1.PersistentVolumeClaimRetentionPolicyType
}

// A refusal is an error with the reason and the message of a condition.
type refusal struct{ reason, message string }

func (r *refusal) Error() string { return r.message }

func refuse(reason, format string, args ...any) error {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// ensureStorage changes the claims of the database as store specifies, and returns the storage that the
// StatefulSet may have now. The storage is valid even if there is an error. The error is a refusal or a
// failed request, and means that the claims do not match the spec yet.
//
// The claims change first, and the set afterwards. All decisions depend on live objects, so an
// interrupted change continues with the next reconcile.
func (r *Reconciler) ensureStorage(
	ctx context.Context, store *v1alpha1.BookStore, db *database, template *appsv1.StatefulSet,
) (storage, error) {
	desired := storageFor(store, template)
	var foreignErr error
	desired.replicas, foreignErr = db.allowedReplicas(desired.replicas)
	current := db.currentStorage(desired)

	if err := r.resizeClaims(ctx, db, current.size, desired.size); err != nil {
		return current, err
	}
	if err := r.releaseClaims(ctx, db); err != nil {
		return current, err
	}
	if current.hasTemplateOf(desired) || !db.ownsClaims() || db.set.DeletionTimestamp != nil { // already being deleted
		return desired, foreignErr
	}
	current.whenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if foreignErr != nil {
		return current, foreignErr
	}
	return current, refuse(v1alpha1.ReasonResizing, "StatefulSet %q is recreated once it owns no claims", db.set.Name)
}

// storageFor returns the desired storage of store. The StorageClass comes from store or from the template.
func storageFor(store *v1alpha1.BookStore, template *appsv1.StatefulSet) storage {
	db := store.Spec.BookDB
	desired := storage{
		replicas:    db.Replicas,
		size:        db.DBSize,
		class:       cmp.Or(db.StorageClassName, template.Spec.VolumeClaimTemplates[0].Spec.StorageClassName),
		whenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	if !retains(store) {
		desired.whenDeleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return desired
}

// writeInto writes the settings into the set.
func (s storage) writeInto(set *appsv1.StatefulSet) {
	set.Spec.Replicas = &s.replicas
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: s.whenDeleted,
		WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	claim := &set.Spec.VolumeClaimTemplates[0].Spec
	claim.StorageClassName = s.class
	claim.Resources = requestOf(s.size)
}

func retains(store *v1alpha1.BookStore) bool { return ptr.Deref(store.Spec.BookDB.Retain, true) }

// currentStorage returns desired with the size and class in the current claim template of the set.
func (db *database) currentStorage(desired storage) storage {
	if db.set == nil || len(db.set.Spec.VolumeClaimTemplates) != 1 {
		return desired
	}
	template := db.set.Spec.VolumeClaimTemplates[0].Spec
	desired.size = template.Resources.Requests[corev1.ResourceStorage]
	desired.class = template.StorageClassName
	return desired
}

// hasTemplateOf reports whether both have the same claim template.
func (s storage) hasTemplateOf(other storage) bool {
	return s.size.Cmp(other.size) == 0 && ptr.Equal(s.class, other.class)
}

// allowedReplicas returns how many of the desired replicas may run. A pod would use a foreign claim with
// the name of its claim, and write into it. A pod that already uses a foreign claim continues.
func (db *database) allowedReplicas(desired int32) (int32, error) {
	for _, volume := range db.foreign {
		if volume.ordinal >= desired {
			break
		}
		if volume.pod == nil && !db.isMountedByLeftover(volume.claim) {
			return volume.ordinal, refuse(v1alpha1.ReasonForeignClaim,
				"claim %q has the name of a claim of this database, but its labels or its pod show that it is foreign; "+
					"%d of %d replicas run until the claim is gone", volume.claim.Name, volume.ordinal, desired)
		}
	}
	return desired, nil
}

// isMountedByLeftover reports whether a pod of a deleted set mounts the claim.
func (db *database) isMountedByLeftover(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(db.leftover, func(pod corev1.Pod) bool { return slices.Contains(claimsOf(&pod), claim.Name) })
}
