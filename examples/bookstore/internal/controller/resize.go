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

// judgeVolumes returns the verdict on the volumes of the first replicas databases, and of all
// others that run. If err prevented the requested size, the verdict is about err. Else the reason
// is the worst one, and the message names each volume with that reason.
func judgeVolumes(db *database, replicas int32, err error) verdict {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return notReady(refused.reason, refused.message)
	}
	if err != nil {
		return notReady(ensure.Reason(err), err.Error())
	}
	stages := []struct {
		reason string
		of     func(volume) string
	}{
		{v1alpha1.ReasonClaimTerminating, going},
		{v1alpha1.ReasonResizeFailed, failed},
		{v1alpha1.ReasonFileSystemResizePending, pending},
		{v1alpha1.ReasonResizing, resizing},
		{v1alpha1.ReasonProvisioning, unbound},
	}
	volumes := db.inUse(replicas)
	for _, stage := range stages {
		var messages []string
		for _, volume := range volumes {
			if message := stage.of(volume); message != "" {
				messages = append(messages, fmt.Sprintf("claim %q %s", volume.claim.Name, message))
			}
		}
		if len(messages) > 0 {
			return notReady(stage.reason, strings.Join(messages, "; "))
		}
	}
	if missing := int(replicas) - len(volumes); missing > 0 {
		return notReady(v1alpha1.ReasonProvisioning, fmt.Sprintf("%d of %d claims are still to be made", missing, replicas))
	}
	return verdict{ready: true, reason: v1alpha1.ReasonDone, message: "every volume is as large as asked for"}
}

// inUse are the volumes that a pod of the database mounts or is to mount. Those that
// earlier replicas left have their file system resized when one is made again.
func (db *database) inUse(replicas int32) []volume {
	return slices.DeleteFunc(slices.Clone(db.volumes), func(v volume) bool {
		return v.ordinal >= replicas && v.pod == nil
	})
}

func going(v volume) string {
	if !v.isGoing() {
		return ""
	}
	if v.pod == nil {
		return "is being deleted"
	}
	return fmt.Sprintf("is being deleted: its data goes when pod %q does", v.pod.Name)
}

// failed returns why a volume cannot grow, if the resizer or the kubelet gave up, or reports a
// failure and goes on. A complaint of the resizer may stay long after a success.
func failed(v volume) string {
	if !v.isGrowing() {
		return ""
	}
	progress := v.claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	if progress == corev1.PersistentVolumeClaimControllerResizeInfeasible || progress == corev1.PersistentVolumeClaimNodeResizeInfeasible {
		return fmt.Sprintf("cannot become as large as %s (%s): ask for less, and for more than %s; kubectl describe tells why",
			v.asks(), progress, v.has())
	}
	for _, trouble := range []corev1.PersistentVolumeClaimConditionType{
		corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError,
	} {
		if v.condition(trouble) != nil && v.condition(corev1.PersistentVolumeClaimFileSystemResizePending) == nil {
			return fmt.Sprintf("does not become as large as %s (%s), which is tried again; kubectl describe tells why", v.asks(), trouble)
		}
	}
	return ""
}

func pending(v volume) string {
	switch {
	case v.condition(corev1.PersistentVolumeClaimFileSystemResizePending) == nil:
		return ""
	case v.pod == nil:
		return "has its file system resized when its pod starts"
	}
	return fmt.Sprintf("has grown, and the file system on it has not: restart pod %q to finish, if it does not by itself", v.pod.Name)
}

func resizing(v volume) string {
	if !v.isBound() || !v.isGrowing() {
		return ""
	}
	return fmt.Sprintf("has %s and grows to %s", v.has(), v.asks())
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

func (v volume) asks() string {
	request := v.request()
	return request.String()
}

func (v volume) has() string {
	capacity := v.capacity()
	return capacity.String()
}

// condition returns the condition of that type of the claim if the condition is true, and else nil.
func (v volume) condition(of corev1.PersistentVolumeClaimConditionType) *corev1.PersistentVolumeClaimCondition {
	for i := range v.claim.Status.Conditions {
		condition := &v.claim.Status.Conditions[i]
		if condition.Type == of && condition.Status == corev1.ConditionTrue {
			return condition
		}
	}
	return nil
}

// since returns when the file system began to wait for a resize, and the zero time if it does not
// wait.
func (v volume) since() metav1.Time {
	if condition := v.condition(corev1.PersistentVolumeClaimFileSystemResizePending); condition != nil {
		return condition.LastTransitionTime
	}
	return metav1.Time{}
}
