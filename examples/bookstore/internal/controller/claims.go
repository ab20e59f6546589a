package controller

import (
	"bytes"
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// resizeClaims changes the request of every claim to the desired size, including claims of former
// replicas. If one of the claims cannot be changed, resizeClaims writes nothing.
//
// A claim that requests more than the desired size is left alone, since a person may have enlarged the
// claim. But if the operator requested that size, and the volume is still smaller, the request is reduced.
// The request of an unbound claim is immutable.
func (r *Reconciler) resizeClaims(ctx context.Context, db *database, current, desired resource.Quantity) error {
	var changed []volume
	for _, volume := range db.volumes {
		if volume.claim.Status.Phase != corev1.ClaimBound || volume.claim.DeletionTimestamp != nil {
			continue
		}
		var err error
		switch requested := volume.requested(); {
		case requested.Cmp(desired) < 0:
			err = r.checkExpansion(ctx, volume)
		case requested.Cmp(desired) > 0 && (current.Cmp(desired) > 0 || volume.isRequestedByOperator()):
			err = checkReduction(volume, desired)
		default:
			continue
		}
		if err != nil {
			return err
		}
		changed = append(changed, volume)
	}
	for _, volume := range changed {
		resized, err := ensure.Object(ctx, r.ensure, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: volume.claim.Namespace, Name: volume.claim.Name},
			Spec:       corev1.PersistentVolumeClaimSpec{Resources: requestOf(desired)},
		}, ensure.IfExists(), ensure.Adopt())
		if err != nil {
			return err
		}
		if resized.Live != nil {
			*volume.claim = *resized.Live
		}
	}
	return nil
}

// findMissingClasses finds the claims that get no volume because their StorageClass does not exist.
func (r *Reconciler) findMissingClasses(ctx context.Context, db *database) error {
	for i := range db.volumes {
		volume := &db.volumes[i]
		name := ptr.Deref(volume.claim.Spec.StorageClassName, "")
		if !volume.isUnbound() || name == "" {
			continue
		}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, &storagev1.StorageClass{})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		volume.lacksClass = err != nil
	}
	return nil
}

// recreateClaims deletes the claims of the replicas that never had a volume and do not have the StorageClass of the
// set, which is immutable. The set creates them again. If a claim changes meanwhile, because it gets a volume, the
// delete request fails. Without a class in the template, a claim has the default class, and has to be recreated only
// if its class does not exist.
func (r *Reconciler) recreateClaims(ctx context.Context, db *database, set *appsv1.StatefulSet) error {
	class := classOf(set)
	for _, volume := range db.volumes {
		claim := volume.claim
		if !volume.isUnbound() || volume.ordinal >= *set.Spec.Replicas ||
			ptr.Equal(claim.Spec.StorageClassName, class) || class == nil && !volume.lacksClass {
			continue
		}
		if err := r.delete(ctx, claim, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}); err != nil {
			return err
		}
	}
	return nil
}

// classOf returns the StorageClass in the claim template of the set.
func classOf(set *appsv1.StatefulSet) *string {
	return set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName
}

// isRequestedByOperator reports whether this operator owns the request of the claim as field manager.
func (v volume) isRequestedByOperator() bool {
	return slices.ContainsFunc(v.claim.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == Name && entry.Operation == metav1.ManagedFieldsOperationApply &&
			entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:storage"`))
	})
}

// checkReduction returns an error if the API server would refuse the smaller request: the request must
// stay above the capacity of the volume.
func checkReduction(volume volume, size resource.Quantity) error {
	capacity, requested := volume.capacity(), volume.requested()
	switch order := size.Cmp(*capacity); {
	case order > 0:
		return nil
	case order == 0 && requested.Cmp(*capacity) > 0:
		return refuse(v1alpha1.ReasonShrinkingRefused,
			"claim %q requests %s and has %s: the request can only be reduced to more than that", volume.claim.Name, requested, capacity)
	}
	return refuse(v1alpha1.ReasonShrinkingRefused,
		"claim %q has %s, and no volume can become smaller: request %[2]s or more", volume.claim.Name, capacity)
}

// checkExpansion returns an error if the API server would refuse the larger request: the StorageClass must
// allow expansion.
func (r *Reconciler) checkExpansion(ctx context.Context, volume volume) error {
	name := ptr.Deref(volume.claim.Spec.StorageClassName, "")
	if name == "" {
		return refuse(v1alpha1.ReasonClassCannotExpand, "claim %q has no StorageClass that would allow it to grow", volume.claim.Name)
	}
	class := &storagev1.StorageClass{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, class)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !ptr.Deref(class.AllowVolumeExpansion, false) { // also if the class does not exist
		return refuse(v1alpha1.ReasonClassCannotExpand,
			"StorageClass %q does not allow claim %q to grow (allowVolumeExpansion)", name, volume.claim.Name)
	}
	return nil
}
