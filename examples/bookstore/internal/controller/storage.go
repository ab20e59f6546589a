package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
)

// storage is what the StatefulSet may say of volumes for now. A claim template cannot be
// changed: for another one the set is re-created around its pods. So it stays as it is
// until all is prepared for that, and for good where volumes cannot be as asked for. The
// rest of the set follows the spec meanwhile.
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

// provide has the claims of the database ask for what store asks for, and returns what the
// StatefulSet may say of volumes by now. That is good beside an error, too, which tells why
// it is not all that store asks for: a refusal, or that of a request.
//
// Everything is decided by what is there: a set whose template is not as asked for, claims
// that ask for less. So it goes on wherever it was interrupted. First the claims change,
// then the set.
func (r *Reconciler) provide(ctx context.Context, store *v1alpha1.BookStore, db *database) (storage, error) {
	wanted := storageFor(store)
	var noRoom error
	wanted.replicas, noRoom = db.room(wanted.replicas)
	standing := db.standing(wanted)

	if err := r.resizeClaims(ctx, db, standing.size, wanted.size); err != nil {
		return standing, err
	}
	if !standing.isLike(wanted) && db.owns() {
		standing.whenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		return standing, noRoom
	}
	return wanted, noRoom
}

func storageFor(store *v1alpha1.BookStore) storage {
	db := store.Spec.BookDB
	wanted := storage{
		replicas:    db.Replicas,
		size:        db.DBSize,
		class:       db.StorageClassName,
		whenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	if !retains(store) {
		wanted.whenDeleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return wanted
}

func retains(store *v1alpha1.BookStore) bool { return ptr.Deref(store.Spec.BookDB.Retain, true) }

// standing is wanted with the claim template of the set as it is.
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

// room is how many of the wanted replicas may run: a pod would take a claim of its name
// whoever made that, and write into it. Pods that have done so already go on.
func (db *database) room(wanted int32) (int32, error) {
	for _, stranger := range db.foreign {
		if stranger.ordinal >= wanted {
			break
		}
		if stranger.pod == nil {
			return stranger.ordinal, refuse(v1alpha1.ReasonForeignClaim,
				"claim %q has the name of one of this database's, and is not: its labels or the pod that mounts it tell; "+
					"%d of %d replicas run until it is gone", stranger.claim.Name, stranger.ordinal, wanted)
		}
	}
	return wanted, nil
}

// resizeClaims has every claim ask for the size that is wanted, those of earlier replicas
// included. One that asks for more is left alone, as a hand may have made it larger, unless
// that is what the set stood for and never came: then it is taken back. Nothing is written
// if one of the claims cannot be as asked for. An unbound claim cannot be changed: it will
// be once it is bound.
func (r *Reconciler) resizeClaims(ctx context.Context, db *database, standing, wanted resource.Quantity) error {
	var others []volume
	for _, volume := range db.volumes {
		asks := volume.request()
		order := asks.Cmp(wanted)
		if !volume.isBound() || volume.isGoing() || order == 0 || order > 0 && standing.Cmp(wanted) <= 0 {
			continue
		}
		mayChange := r.mayGrow
		if order > 0 {
			mayChange = mayTakeBack
		}
		if err := mayChange(ctx, volume, wanted); err != nil {
			return err
		}
		others = append(others, volume)
	}
	for _, volume := range others {
		if err := r.resizeClaim(ctx, volume, wanted); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) resizeClaim(ctx context.Context, volume volume, size resource.Quantity) error {
	resized, err := ensure.Object(ctx, r.ensure, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: volume.claim.Namespace, Name: volume.claim.Name},
		Spec:       corev1.PersistentVolumeClaimSpec{Resources: requestOf(size)},
	}, ensure.IfExists(), ensure.Adopt())
	if err != nil {
		return err
	}
	if resized.Live != nil {
		operator.LogWrite(ctx, resized)
		*volume.claim = *resized.Live
	}
	return nil
}

// mayTakeBack tells what the API server would refuse: a request that is not above what the
// volume has.
func mayTakeBack(_ context.Context, volume volume, size resource.Quantity) error {
	has, asks := volume.capacity(), volume.request()
	switch order := size.Cmp(has); {
	case order > 0:
		return nil
	case order == 0 && asks.Cmp(has) > 0:
		return refuse(v1alpha1.ReasonShrinkingRefused,
			"claim %q asks for %s and has %s: only what is above that can be taken back", volume.claim.Name, &asks, &has)
	}
	return refuse(v1alpha1.ReasonShrinkingRefused,
		"claim %q has %s, and no volume can become smaller", volume.claim.Name, &has)
}

// mayGrow tells what the API server would refuse: a class that does not allow for it.
func (r *Reconciler) mayGrow(ctx context.Context, volume volume, _ resource.Quantity) error {
	name := ptr.Deref(volume.claim.Spec.StorageClassName, "")
	if name == "" {
		return refuse(v1alpha1.ReasonClassCannotExpand, "claim %q has no StorageClass that would allow it to grow", volume.claim.Name)
	}
	class := &storagev1.StorageClass{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, class)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !ptr.Deref(class.AllowVolumeExpansion, false) { // nor does one that is not there
		return refuse(v1alpha1.ReasonClassCannotExpand,
			"StorageClass %q does not allow claim %q to grow", name, volume.claim.Name)
	}
	return nil
}

// owns reports whether the set is, or is about to become, an owner of claims. They would be
// left to the garbage collector if the set were deleted then, and not to the new set.
func (db *database) owns() bool {
	policy := db.set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy != nil && policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return true
	}
	for _, volume := range db.volumes {
		for _, owner := range volume.claim.OwnerReferences {
			if volume.pod != nil && owner.UID == db.set.UID {
				return true
			}
		}
	}
	return false
}
