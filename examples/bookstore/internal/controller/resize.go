package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// judgeVolumes returns the verdict on the volumes in use. If err is not nil, the verdict is about err.
// Otherwise, the reason is the first of the list below that applies to a volume, and the message names
// each volume with that reason.
func judgeVolumes(db *database, replicas int32, err error) verdict {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return notReady(refused.reason, refused.message)
	}
	if err != nil {
		return notReady(ensure.Reason(err), err.Error())
	}
	checks := []struct {
		reason   string
		describe func(volume) string
	}{
		{v1alpha1.ReasonClaimTerminating, terminating},
		{v1alpha1.ReasonResizeFailed, failed},
		{v1alpha1.ReasonFileSystemResizePending, pending},
		{v1alpha1.ReasonResizing, resizing},
		{v1alpha1.ReasonProvisioning, unbound},
	}
	volumes := db.inUse(replicas)
	for _, check := range checks {
		var messages []string
		for _, volume := range volumes {
			if message := check.describe(volume); message != "" {
				messages = append(messages, fmt.Sprintf("claim %q %s", volume.claim.Name, message))
			}
		}
		if len(messages) > 0 {
			return notReady(check.reason, strings.Join(messages, "; "))
		}
	}
	if missing := int(replicas) - len(volumes); missing > 0 {
		return notReady(v1alpha1.ReasonProvisioning, fmt.Sprintf("%d of %d claims do not exist yet", missing, replicas))
	}
	return verdict{ready: true, reason: v1alpha1.ReasonDone, message: "every volume has the requested size"}
}

// inUse returns the volumes of current replicas, and of former replicas whose pod still runs. The file
// systems of other volumes are resized when a pod mounts them again.
func (db *database) inUse(replicas int32) []volume {
	return slices.DeleteFunc(slices.Clone(db.volumes), func(v volume) bool {
		return v.ordinal >= replicas && v.pod == nil
	})
}

func terminating(v volume) string {
	if !v.isDeleting() {
		return ""
	}
	if v.pod == nil {
		return "is being deleted"
	}
	return fmt.Sprintf("is being deleted: the data is lost when pod %q is deleted", v.pod.Name)
}

// failed returns a message if the resizer or the kubelet reports a failure. Volumes of the requested size
// are ignored, because the condition of a failure may remain after a success.
func failed(v volume) string {
	if !v.isGrowing() {
		return ""
	}
	progress := v.claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	if progress == corev1.PersistentVolumeClaimControllerResizeInfeasible || progress == corev1.PersistentVolumeClaimNodeResizeInfeasible {
		return fmt.Sprintf("cannot become as large as %s (%s): request less, but more than %s; kubectl describe shows the cause",
			v.requestedSize(), progress, v.currentSize())
	}
	for _, conditionType := range []corev1.PersistentVolumeClaimConditionType{
		corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError,
	} {
		if v.condition(conditionType) != nil && v.condition(corev1.PersistentVolumeClaimFileSystemResizePending) == nil {
			return fmt.Sprintf("has not become as large as %s (%s), which is tried again; kubectl describe shows the cause",
				v.requestedSize(), conditionType)
		}
	}
	return ""
}

func pending(v volume) string {
	switch {
	case v.condition(corev1.PersistentVolumeClaimFileSystemResizePending) == nil:
		return ""
	case v.pod == nil:
		return "gets its file system resized when its pod starts"
	}
	return fmt.Sprintf("has grown, but its file system has not: restart pod %q to finish, unless it grows by itself", v.pod.Name)
}

func resizing(v volume) string {
	if !v.isBound() || !v.isGrowing() {
		return ""
	}
	return fmt.Sprintf("has %s and grows to %s", v.currentSize(), v.requestedSize())
}

func unbound(v volume) string {
	switch v.claim.Status.Phase {
	case corev1.ClaimBound:
		return ""
	case corev1.ClaimLost:
		return "has lost its volume"
	default:
		return "has no volume yet"
	}
}

// isGrowing reports whether the volume is smaller than the claim requests.
func (v volume) isGrowing() bool {
	request := v.request()
	return request.Cmp(v.capacity()) > 0
}

func (v volume) requestedSize() string {
	request := v.request()
	return request.String()
}

func (v volume) currentSize() string {
	capacity := v.capacity()
	return capacity.String()
}

// condition returns the condition of that type if the condition is true, and nil otherwise.
func (v volume) condition(conditionType corev1.PersistentVolumeClaimConditionType) *corev1.PersistentVolumeClaimCondition {
	for i := range v.claim.Status.Conditions {
		condition := &v.claim.Status.Conditions[i]
		if condition.Type == conditionType && condition.Status == corev1.ConditionTrue {
			return condition
		}
	}
	return nil
}

// resizePendingSince returns the time since which the file system waits for a resize, or zero.
func (v volume) resizePendingSince() metav1.Time {
	if condition := v.condition(corev1.PersistentVolumeClaimFileSystemResizePending); condition != nil {
		return condition.LastTransitionTime
	}
	return metav1.Time{}
}
