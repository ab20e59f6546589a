package controller

import (
	"bytes"
	"context"
	"slices"

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

// resizeClaims changes the request of every claim to the wanted size, including claims of earlier
// replicas. A claim that requests more is left alone, as a person may have enlarged it, unless the
// operator itself requested that size for the set and the volume never reached it: then the request
// is reduced. If one of the claims cannot be changed, nothing is written. An unbound claim cannot
// be changed before it is bound.
func (r *Reconciler) resizeClaims(ctx context.Context, db *database, standing, wanted resource.Quantity) error {
	var others []volume
	for _, volume := range db.volumes {
		if !volume.isBound() || volume.isGoing() {
			continue
		}
		var err error
		switch asks := volume.request(); {
		case asks.Cmp(wanted) < 0:
			err = r.mayGrow(ctx, volume)
		case asks.Cmp(wanted) > 0 && (standing.Cmp(wanted) > 0 || volume.isOurWish()):
			err = mayTakeBack(volume, wanted)
		default:
			continue
		}
		if err != nil {
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

// isOurWish reports whether this operator set the request of the claim.
func (v volume) isOurWish() bool {
	return slices.ContainsFunc(v.claim.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == Name && entry.Operation == metav1.ManagedFieldsOperationApply &&
			entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:storage"`))
	})
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

// mayTakeBack returns an error for a request that the API server would refuse: one that is not
// above the capacity of the volume.
func mayTakeBack(volume volume, size resource.Quantity) error {
	has, asks := volume.capacity(), volume.request()
	switch order := size.Cmp(has); {
	case order > 0:
		return nil
	case order == 0 && asks.Cmp(has) > 0:
		return refuse(v1alpha1.ReasonShrinkingRefused,
			"claim %q asks for %s and has %s: only what is above that can be taken back", volume.claim.Name, &asks, &has)
	}
	return refuse(v1alpha1.ReasonShrinkingRefused,
		"claim %q has %s, and no volume can become smaller: ask for %[2]s or more", volume.claim.Name, &has)
}

// mayGrow returns an error for a growth that the API server would refuse: the class does not allow
// expansion.
func (r *Reconciler) mayGrow(ctx context.Context, volume volume) error {
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
			"StorageClass %q does not allow claim %q to grow (allowVolumeExpansion)", name, volume.claim.Name)
	}
	return nil
}
