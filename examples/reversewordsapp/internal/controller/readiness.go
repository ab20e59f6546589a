package controller

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status/readiness"
)

// Reasons of the conditions. Other reasons come from ensure.Reason, from waiting containers
// (ImagePullBackOff, CrashLoopBackOff, …) and from conditions of the Deployment.
const (
	reasonAvailable   = "Available"
	reasonProgressing = "Progressing"
	reasonTerminating = "Terminating"
	reasonInvalidName = "InvalidName"
)

// A verdict contains the status, the reason and the message of a condition for a child.
type verdict struct {
	ready           bool
	reason, message string
}

func notReady(reason, message string) verdict {
	return verdict{reason: reason, message: message}
}

// judgeDeployment returns the verdict on the Deployment. If the Deployment was not ensured, the reason
// comes from err. A stale copy, which does not include the last write, is not ready. The reason of a
// Deployment that is not ready comes from one of its pods, else from a condition of the Deployment, else
// it is Progressing.
func judgeDeployment(deployment ensure.Result[*appsv1.Deployment], err error, pods []corev1.Pod) verdict {
	if deployment.Operation == "" {
		return notReady(ensure.Reason(err), err.Error())
	}
	if deployment.Stale {
		return notReady(reasonProgressing, "the cache does not show the last write yet")
	}
	live := deployment.Live
	child := readiness.Of(live)
	message := fmt.Sprintf("Deployment %q: %s", live.Name, child.Message)
	if child.State == readiness.Ready {
		return verdict{ready: true, reason: reasonAvailable, message: message}
	}
	for i := range pods {
		if reason := podProblem(&pods[i]); reason != "" {
			return notReady(reason, fmt.Sprintf("pod %q: %s", pods[i].Name, readiness.Of(&pods[i]).Message))
		}
	}
	if reason := rolloutProblem(live); reason != "" {
		return notReady(reason, message)
	}
	return notReady(reasonProgressing, message)
}

// judgeService returns the verdict on the Service. If the Service was not ensured, the reason comes from
// err, which may be about the Deployment. A Service of type LoadBalancer needs a cluster IP.
func judgeService(service ensure.Result[*corev1.Service], err error) verdict {
	if service.Operation == "" {
		return notReady(ensure.Reason(err), err.Error())
	}
	if service.Stale {
		return notReady(reasonProgressing, "the cache does not show the last write yet")
	}
	child := readiness.Of(service.Live)
	message := fmt.Sprintf("Service %q: %s", service.Live.Name, child.Message)
	if child.State == readiness.Ready {
		return verdict{ready: true, reason: reasonAvailable, message: message}
	}
	return notReady(reasonProgressing, message)
}

// podProblem returns the reason why a pod does not become ready, or "" if there is no problem.
func podProblem(pod *corev1.Pod) string {
	progressing := []string{"", "ContainerCreating", "PodInitializing"}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := container.State.Waiting; waiting != nil && !slices.Contains(progressing, waiting.Reason) {
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

// rolloutProblem returns the reason why the current rollout does not finish, or "" if there is no problem.
func rolloutProblem(deployment *appsv1.Deployment) string {
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
