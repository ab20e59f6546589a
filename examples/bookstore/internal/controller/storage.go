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

// storage holds the settings of the StatefulSet about volumes. A claim template cannot be changed:
// for another one, the set is recreated around its pods. So the template stays until everything is
// prepared, and for good if the volumes cannot be as requested. The rest of the set follows the
// spec meanwhile.
type storage struct {
	replicas    int32
	size        resource.Quantity
	class       *string
	whenDeleted appsv1.PersistentVolumeClaimRetentionPolicyType
}

// A refusal is why volumes cannot be as a BookStore asks for, in the words of a condition.
type refusal struct{ reason, message string }

func (r *refusal) Error() string { return r.message }

func refuse(reason, format string, args ...any) error {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// provide changes the claims of the database to the request of store, and returns the storage that
// the StatefulSet may have now. The storage is valid beside an error, too, which says why the
// request is not fulfilled: a refusal, or a failed request.
//
// All decisions depend on existing objects: a set with another template, or claims that request
// less. So an interrupted change goes on. The claims change first, the set afterwards.
func (r *Reconciler) provide(
	ctx context.Context, store *v1alpha1.BookStore, db *database, template *appsv1.StatefulSet,
) (storage, error) {
	wanted := storageFor(store, template)
	var noRoom error
	wanted.replicas, noRoom = db.room(wanted.replicas)
	standing := db.standing(wanted)

	if err := r.resizeClaims(ctx, db, standing.size, wanted.size); err != nil {
		return standing, err
	}
	if err := r.release(ctx, db); err != nil {
		return standing, err
	}
	if standing.isLike(wanted) || !db.owns() || db.set.DeletionTimestamp != nil { // the set is being deleted, by anybody
		return wanted, noRoom
	}
	standing.whenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if noRoom != nil {
		return standing, noRoom
	}
	return standing, refuse(v1alpha1.ReasonResizing, "StatefulSet %q is made again once it owns no claims", db.set.Name)
}

// storageFor returns the request of store. If store names no StorageClass, the template may.
func storageFor(store *v1alpha1.BookStore, template *appsv1.StatefulSet) storage {
	db := store.Spec.BookDB
	wanted := storage{
		replicas:    db.Replicas,
		size:        db.DBSize,
		class:       cmp.Or(db.StorageClassName, template.Spec.VolumeClaimTemplates[0].Spec.StorageClassName),
		whenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	if !retains(store) {
		wanted.whenDeleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return wanted
}

// writeInto adds the settings that the template leaves out to the set.
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

// standing returns wanted with the current claim template of the set.
func (db *database) standing(wanted storage) storage {
	if db.set == nil || len(db.set.Spec.VolumeClaimTemplates) != 1 {
		return wanted
	}
	template := db.set.Spec.VolumeClaimTemplates[0].Spec
	wanted.size = template.Resources.Requests[corev1.ResourceStorage]
	wanted.class = template.StorageClassName
	return wanted
}

// isLike reports whether both have the same claim template.
func (s storage) isLike(other storage) bool {
	return s.size.Cmp(other.size) == 0 && ptr.Equal(s.class, other.class)
}

// room returns how many of the wanted replicas may run. A pod uses any claim with the right name,
// whoever created the claim, and would write into it. Pods that have done so already continue.
func (db *database) room(wanted int32) (int32, error) {
	for _, stranger := range db.foreign {
		if stranger.ordinal >= wanted {
			break
		}
		if stranger.pod == nil && !db.isLeft(stranger.claim) {
			return stranger.ordinal, refuse(v1alpha1.ReasonForeignClaim,
				"claim %q has the name of one of this database's and is somebody else's, as its labels or the pod that mounts it tell; "+
					"%d of %d replicas run until they have moved it away", stranger.claim.Name, stranger.ordinal, wanted)
		}
	}
	return wanted, nil
}

// isLeft reports whether a pod that an earlier set left mounts the claim.
func (db *database) isLeft(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(db.left, func(pod corev1.Pod) bool { return slices.Contains(claimsOf(&pod), claim.Name) })
}
