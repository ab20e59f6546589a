package storage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// inUseSince reports whether one of the pods has mounted the claim since before it became
// FileSystemResizePending. It asks nothing but the objects, so that it matters not who looks, or
// since when.
func inUseSince(claim *corev1.PersistentVolumeClaim, pods []corev1.Pod) bool {
	pending := pendingSince(claim)
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		created := pod.CreationTimestamp
		if created.Equal(&pending) {
			return !writtenAfter(&pod, claim)
		}
		return created.Before(&pending)
	})
}

// pendingSince is the zero time, which is before all pods, for a claim that lost the condition.
func pendingSince(claim *corev1.PersistentVolumeClaim) metav1.Time {
	for _, condition := range claim.Status.Conditions {
		if condition.Type == corev1.PersistentVolumeClaimFileSystemResizePending {
			return condition.LastTransitionTime
		}
	}
	return metav1.Time{}
}

// writtenAfter settles what times, which are in seconds, cannot: a pod that was created anew was
// written to after the claim became pending, and an old one before. All objects of a cluster count
// the writes to one etcd.
func writtenAfter(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, claim.ResourceVersion)
	return err == nil && order > 0
}
