package controller

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/status/readiness"
)

// judgeVolumes returns the readiness of the volumes of current replicas, and of former replicas whose pod
// still runs. The file systems of other volumes are resized when a pod mounts them again. If err is not
// nil, the reason is that of err. Otherwise, the reason is the most urgent of the volumes, and the message
// names each volume with that reason.
func judgeVolumes(db *database, set *appsv1.StatefulSet, err error) readiness.Readiness {
	if err != nil {
		return failed(err)
	}
	replicas := *set.Spec.Replicas
	messages, missing := map[string][]string{}, int(replicas)
	for _, volume := range db.volumes {
		if volume.ordinal >= replicas && volume.pod == nil {
			continue
		}
		reason, message := volume.progress()
		messages[reason] = append(messages[reason], fmt.Sprintf("claim %q %s", volume.claim.Name, message))
		if volume.ordinal < replicas {
			missing--
		}
	}
	for _, reason := range []string{ // the most urgent first
		v1alpha1.ReasonClaimTerminating, v1alpha1.ReasonResizeFailed, v1alpha1.ReasonFileSystemResizePending, v1alpha1.ReasonResizing,
		v1alpha1.ReasonClassMissing, v1alpha1.ReasonProvisioning,
	} {
		if len(messages[reason]) > 0 {
			return notReady(reason, strings.Join(messages[reason], "; "))
		}
	}
	if missing > 0 {
		return notReady(v1alpha1.ReasonProvisioning, fmt.Sprintf("%d of %d claims do not exist yet", missing, replicas))
	}
	message := "every volume has the requested size" + db.describeFixedClasses(classOf(set))
	return readiness.Readiness{State: readiness.Ready, Reason: v1alpha1.ReasonDone, Message: message}
}

// describeFixedClasses returns text about volumes that do not have the desired StorageClass.
func (db *database) describeFixedClasses(desired *string) string {
	if desired == nil {
		return "" // each volume has the class that was the default
	}
	var fixed []string
	for _, volume := range db.volumes {
		if class := volume.claim.Spec.StorageClassName; !ptr.Equal(class, desired) {
			fixed = append(fixed, fmt.Sprintf("; claim %q keeps StorageClass %q", volume.claim.Name, ptr.Deref(class, "")))
		}
	}
	return strings.Join(fixed, "")
}

// progress returns the most urgent reason of the volume, and a message that follows the name of the claim.
func (v volume) progress() (reason, message string) {
	isGrowing, failure := v.requested().Cmp(*v.capacity()) > 0, v.failure()
	isPending := v.condition(corev1.PersistentVolumeClaimFileSystemResizePending) != nil
	switch phase := v.claim.Status.Phase; {
	case v.claim.DeletionTimestamp != nil && v.pod == nil:
		return v1alpha1.ReasonClaimTerminating, "is being deleted"
	case v.claim.DeletionTimestamp != nil:
		return v1alpha1.ReasonClaimTerminating, fmt.Sprintf("is being deleted: the data is lost when pod %q is deleted", v.pod.Name)
	case isGrowing && failure != "": // after a success, the condition of a failure may remain
		return v1alpha1.ReasonResizeFailed, failure
	case isPending && v.pod == nil:
		return v1alpha1.ReasonFileSystemResizePending, "gets its file system resized when its pod starts"
	case isPending:
		return v1alpha1.ReasonFileSystemResizePending,
			fmt.Sprintf("has grown, but its file system has not: restart pod %q to finish, unless it grows by itself", v.pod.Name)
	case isGrowing && phase == corev1.ClaimBound:
		return v1alpha1.ReasonResizing, fmt.Sprintf("has %s and grows to %s", v.capacity(), v.requested())
	case phase == corev1.ClaimLost:
		return v1alpha1.ReasonProvisioning, "has lost its volume"
	case phase != corev1.ClaimBound:
		return v.provisioning()
	}
	return v1alpha1.ReasonDone, ""
}

// provisioning returns why the claim has no volume yet.
func (v volume) provisioning() (reason, message string) {
	switch class := v.claim.Spec.StorageClassName; {
	case class == nil:
		return v1alpha1.ReasonProvisioning, "has no volume yet: it names no StorageClass, and the cluster has no default"
	case v.lacksClass:
		return v1alpha1.ReasonClassMissing, fmt.Sprintf("has no volume, because StorageClass %q does not exist: create it, or correct "+
			"spec.bookDB.storageClassName", *class)
	}
	return v1alpha1.ReasonProvisioning, "has no volume yet"
}

// failure returns a message if the resizer or the kubelet reports a failure.
func (v volume) failure() string {
	progress := v.claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	if progress == corev1.PersistentVolumeClaimControllerResizeInfeasible || progress == corev1.PersistentVolumeClaimNodeResizeInfeasible {
		return fmt.Sprintf("cannot become as large as %s (%s): request less, but more than %s; kubectl describe shows the cause",
			v.requested(), progress, v.capacity())
	}
	for _, conditionType := range []corev1.PersistentVolumeClaimConditionType{
		corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError,
	} {
		if v.condition(conditionType) != nil && v.condition(corev1.PersistentVolumeClaimFileSystemResizePending) == nil {
			return fmt.Sprintf("has not become as large as %s (%s), which is tried again; kubectl describe shows the cause",
				v.requested(), conditionType)
		}
	}
	return ""
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
