package storage

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// resizeConditions are exactly the conditions that the end of an expansion removes.
var resizeConditions = []corev1.PersistentVolumeClaimConditionType{
	corev1.PersistentVolumeClaimResizing,
	corev1.PersistentVolumeClaimFileSystemResizePending,
	corev1.PersistentVolumeClaimControllerResizeError,
	corev1.PersistentVolumeClaimNodeResizeError,
}

// Pending reports whether the controller's part of the claim's expansion is done and the node's is
// not: whether the kubelet may begin, or has begun.
func Pending(claim *corev1.PersistentVolumeClaim) bool {
	switch claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		return true
	default:
		return false
	}
}

// StartResize does the kubelet's work before the call of the driver: it sets
// allocatedResourceStatuses to NodeResizeInProgress. It fails unless the claim is [Pending].
func StartResize(ctx context.Context, c client.Client, claim client.ObjectKey) error {
	return advance(ctx, c, claim, func(live *corev1.PersistentVolumeClaim) {
		live.Status.AllocatedResourceStatuses[corev1.ResourceStorage] = corev1.PersistentVolumeClaimNodeResizeInProgress
	})
}

// FinishResize does all of the kubelet's work for a successful expansion on the node: after the
// work of [StartResize], it sets status.capacity to the allocated size, and removes the status of
// allocated resources and the conditions about resizing. The allocated size stays. FinishResize
// fails unless the claim is [Pending].
func FinishResize(ctx context.Context, c client.Client, claim client.ObjectKey) error {
	if err := StartResize(ctx, c, claim); err != nil {
		return err
	}
	return advance(ctx, c, claim, func(live *corev1.PersistentVolumeClaim) {
		status := &live.Status
		status.Capacity[corev1.ResourceStorage] = status.AllocatedResources[corev1.ResourceStorage]
		delete(status.AllocatedResourceStatuses, corev1.ResourceStorage)
		status.Conditions = slices.DeleteFunc(status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
			return slices.Contains(resizeConditions, c.Type)
		})
	})
}

// advance patches the status of a pending claim as the kubelet does, by a strategic merge that
// fails if another client was first; then it tries again.
func advance(ctx context.Context, c client.Client, key client.ObjectKey, change func(*corev1.PersistentVolumeClaim)) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		claim := &corev1.PersistentVolumeClaim{}
		if err := c.Get(ctx, key, claim); err != nil {
			return err
		}
		if !Pending(claim) {
			status := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
			return fmt.Errorf("nothing is to be done on a node: its status is %q", status)
		}
		before := claim.DeepCopy()
		change(claim)
		patch := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
		return c.Status().Patch(ctx, claim, patch)
	})
	if err != nil {
		return fmt.Errorf("cannot resize claim %s on its node: %w", key, err)
	}
	return nil
}
