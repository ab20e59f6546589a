package controller

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status/readiness"
)

// Reasons of the conditions, beside those of ensure.Reason, those why a container waits
// (ImagePullBackOff, CrashLoopBackOff, …) and those why a rollout is stuck.
const (
	reasonAvailable   = "Available"
	reasonProgressing = "Progressing"
	reasonTerminating = "Terminating"
	reasonInvalidName = "InvalidName"
)

// A verdict is how a child stands, in the words of a condition.
type verdict struct {
	ready           bool
	reason, message string
}

func notReady(reason, message string) verdict {
	return verdict{reason: reason, message: message}
}

// judgeDeployment judges the Deployment by a copy that includes our write, never by an older copy,
// and by err only if err prevented the write. The reason of a Deployment that is not ready is the
// trouble of one of its pods, else the trouble of the Deployment, else that it is in progress. A
// Deployment in deletion is an err.
func judgeDeployment(deployment ensure.Result[*appsv1.Deployment], err error, pods []corev1.Pod) verdict {
	if deployment.Operation == "" {
		return notReady(ensure.Reason(err), err.Error())
	}
	if deployment.Stale {
		return notReady(reasonProgressing, "what was written is not seen yet")
	}
	live := deployment.Live
	child := readiness.Of(live)
	message := fmt.Sprintf("Deployment %q: %s", live.Name, child.Message)
	if child.State == readiness.Ready {
		return verdict{ready: true, reason: reasonAvailable, message: message}
	}
	for i := range pods {
		if reason := trouble(&pods[i]); reason != "" {
			return notReady(reason, fmt.Sprintf("pod %q: %s", pods[i].Name, readiness.Of(&pods[i]).Message))
		}
	}
	if reason := stuck(live); reason != "" {
		return notReady(reason, message)
	}
	return notReady(reasonProgressing, message)
}

// judgeService judges the Service: a load balancer needs a cluster IP. A Service that was not
// ensured waits for the cause in err, which may be about the Deployment.
func judgeService(service ensure.Result[*corev1.Service], err error) verdict {
	if service.Operation == "" {
		return notReady(ensure.Reason(err), err.Error())
	}
	if service.Stale {
		return notReady(reasonProgressing, "what was written is not seen yet")
	}
	child := readiness.Of(service.Live)
	message := fmt.Sprintf("Service %q: %s", service.Live.Name, child.Message)
	if child.State == readiness.Ready {
		return verdict{ready: true, reason: reasonAvailable, message: message}
	}
	return notReady(reasonProgressing, message)
}

// trouble returns the reason why a pod does not become ready, or none if the pod is in progress.
func trouble(pod *corev1.Pod) string {
	onItsWay := []string{"", "ContainerCreating", "PodInitializing"}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := container.State.Waiting; waiting != nil && !slices.Contains(onItsWay, waiting.Reason) {
			return waiting.Reason
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Reason
		}
	}
	return ""
}

// stuck returns the reason why a rollout does not finish, or none. The reason of an earlier rollout
// does not count.
func stuck(deployment *appsv1.Deployment) string {
	if deployment.Status.ObservedGeneration < deployment.Generation {
		return ""
	}
	for _, condition := range deployment.Status.Conditions {
		switch {
		case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue,
			condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse:
			return condition.Reason
		}
	}
	return ""
}
