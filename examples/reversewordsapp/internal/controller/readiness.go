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

// judgeDeployment judges the Deployment as it is after our write, never as it was
// before, and by err only if that kept it from being made. One that is not ready has a
// reason that says most: what keeps one of its pods, else what keeps the Deployment, else
// that it is under way. One that is being deleted is an err.
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

// judgeService judges the Service: a load balancer has to have a cluster IP. One that was
// not made waits for what err tells of, be it the Service's own or the Deployment's.
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

// trouble is the reason why a pod does not become ready, unless it is only on its way.
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

// stuck is the reason why a rollout does not come to its end, if it does not. What kept
// the one before is no reason.
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
