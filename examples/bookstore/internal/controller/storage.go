package controller

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// A refusal is an error with the reason and the message of a condition.
type refusal struct{ reason, message string }

func (r *refusal) Error() string { return r.message }

// refuse returns a refusal as a terminal error: only a change of the BookStore, of the templates or of the
// cluster helps.
func refuse(reason, format string, args ...any) error {
	return reconcile.TerminalError(&refusal{reason, fmt.Sprintf(format, args...)})
}

// writeStorage writes the settings of store for volumes into the template of the StatefulSet. The
// StorageClass comes from store or from the template.
func writeStorage(store *v1alpha1.BookStore, set *appsv1.StatefulSet) {
	db := store.Spec.BookDB
	policy := &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	if retains(store) {
		policy.WhenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	set.Spec.Replicas, set.Spec.PersistentVolumeClaimRetentionPolicy = &db.Replicas, policy
	claim := &set.Spec.VolumeClaimTemplates[0].Spec
	claim.StorageClassName, claim.Resources = cmp.Or(db.StorageClassName, claim.StorageClassName), requestOf(db.DBSize)
}

func retains(store *v1alpha1.BookStore) bool { return ptr.Deref(store.Spec.BookDB.Retain, true) }

// ensureStorage changes the claims of the database as the desired set specifies, and then changes the
// desired set to what it may be now. A claim template is immutable: for another template, the operator
// deletes the set without the pods and creates a new set. So the size and the class of the current template
// stay until the claims have changed, or forever if they cannot change. Other fields of the set change at
// once. An error is a refusal or a failed request, and means that the claims do not match the spec yet.
//
// All decisions depend on live objects, so an interrupted change continues with the next reconcile.
func (r *Reconciler) ensureStorage(ctx context.Context, db *database, set *appsv1.StatefulSet) error {
	foreignErr := db.limitReplicas(set)
	desired := &set.Spec.VolumeClaimTemplates[0].Spec
	current := *desired
	if db.set != nil && len(db.set.Spec.VolumeClaimTemplates) == 1 {
		template := db.set.Spec.VolumeClaimTemplates[0].Spec
		current.Resources, current.StorageClassName = requestOf(*template.Resources.Requests.Storage()), template.StorageClassName
	}
	currentSize, size := current.Resources.Requests.Storage(), desired.Resources.Requests.Storage()

	err := r.findMissingClasses(ctx, db)
	if err == nil {
		err = r.resizeClaims(ctx, db, *currentSize, *size)
	}
	if err == nil {
		err = r.releaseClaims(ctx, db)
	}
	if err == nil {
		hasTemplate := currentSize.Cmp(*size) == 0 && ptr.Equal(current.StorageClassName, desired.StorageClassName)
		if hasTemplate && db.set != nil {
			return cmp.Or(foreignErr, r.recreateClaims(ctx, db, set))
		}
		if hasTemplate || !db.ownsClaims() || db.set.DeletionTimestamp != nil { // already being deleted
			return foreignErr
		}
		set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		err = cmp.Or(foreignErr, refuse(v1alpha1.ReasonResizing, "StatefulSet %q is recreated once it owns no claims", db.set.Name))
	}
	*desired = current
	return err
}

// limitReplicas reduces the replicas of the desired set to those that may run. A pod would use a foreign
// claim with the name of its claim, and write into it. A pod that already uses a foreign claim continues.
func (db *database) limitReplicas(set *appsv1.StatefulSet) error {
	desired := *set.Spec.Replicas
	for _, volume := range db.foreign {
		if volume.ordinal < desired && volume.pod == nil {
			set.Spec.Replicas = &volume.ordinal
			return refuse(v1alpha1.ReasonForeignClaim,
				"claim %q has the name of a claim of this database, but its labels or its pod show that it is foreign; "+
					"%d of %d replicas run until the claim is gone", volume.claim.Name, volume.ordinal, desired)
		}
	}
	return nil
}
