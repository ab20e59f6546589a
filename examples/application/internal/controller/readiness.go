package controller

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/ensure"
)

// Reasons of the Ready condition, beside those of ensure.Reason.
const (
	reasonAvailable   = "Available"
	reasonProgressing = "Progressing"
	reasonInvalidName = "InvalidName"
)

// readiness judges the Deployment as it is after our write, never as it was before:
// neither a copy older than that write nor a status that tells of an earlier
// generation counts, and no pods of none observed are not ready. While old pods are
// left, those that are available may be theirs.
//
// The messages count no pods that are on their way, so that a rollout costs two
// status writes, however many pods it has.
func readiness(deployment ensure.Result[*appsv1.Deployment]) metav1.Condition {
	live := deployment.Live
	wanted, status := ptr.Deref(live.Spec.Replicas, 1), live.Status
	observed := !deployment.Stale && status.ObservedGeneration >= live.Generation
	switch {
	case observed && failure(status) != "":
		return notReady(failure(status), fmt.Sprintf("the rollout of Deployment %q is stuck", live.Name))
	case observed && status.Replicas == wanted && status.UpdatedReplicas == wanted && status.AvailableReplicas == wanted:
		return metav1.Condition{
			Status: metav1.ConditionTrue, Reason: reasonAvailable,
			Message: fmt.Sprintf("%d of %d pods are available", wanted, wanted),
		}
	}
	return notReady(reasonProgressing, fmt.Sprintf("the rollout of Deployment %q is not complete", live.Name))
}

func notReady(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// failure is the reason why a rollout does not come to its end, if it does not.
func failure(status appsv1.DeploymentStatus) string {
	for _, condition := range status.Conditions {
		switch {
		case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue,
			condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse:
			return condition.Reason
		}
	}
	return ""
}
