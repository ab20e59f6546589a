package storage

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// users are the pods that mounted a claim when it was first seen waiting for its nodes. Times in
// seconds cannot distinguish such a pod from a pod recreated in the same second.
type users map[types.UID]bool

func usersOf(pods []corev1.Pod) users {
	found := users{}
	for _, pod := range pods {
		found[pod.UID] = true
	}
	return found
}

// include reports whether one of the pods has mounted the claim since before the claim became
// FileSystemResizePending.
func (u users) include(claim *corev1.PersistentVolumeClaim, pods []corev1.Pod) bool {
	pending := pendingSince(claim)
	for _, pod := range pods {
		created := pod.CreationTimestamp
		if created.Before(&pending) || created.Equal(&pending) && u[pod.UID] {
			return true
		}
	}
	return false
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
