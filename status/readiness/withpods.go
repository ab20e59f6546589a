package readiness

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WithPods returns the readiness of a workload, and tells from its pods why the workload is not
// ready. The State is that of Of(workload). If the State is Ready or Terminating, or if no pod has a
// problem, WithPods returns Of(workload). Otherwise, Reason and Message are about the first pod with
// a problem. Like Of, WithPods sends no request.
//
// These are the problems of a pod, the most telling one first:
//
//   - A container waits for the reason CrashLoopBackOff.
//   - A container waits for another reason, such as ImagePullBackOff or CreateContainerConfigError,
//     except for ContainerCreating and PodInitializing, which are part of each start.
//   - The pod is not scheduled, with a reason such as Unschedulable or SchedulingGated.
//
// Pass the pods of the workload only, as Pods returns them. For a Deployment, these include the
// pods of earlier revisions. WithPods reads only the names and the statuses of pods, so a cache need
// not keep their specs.
//
// A pod that the API server refuses, because of a quota or of pod security, does not exist. For a
// Deployment and a ReplicaSet, the condition ReplicaFailure has the API server's message, and so has
// the result. A StatefulSet, a DaemonSet and a Job have no such condition: the result has the number
// of pods, and only the events of the workload have the API server's message (see Refusal). Also, only the events
// of a pod tell that a volume cannot be mounted, or that a probe fails: the pod's status then shows
// ContainerCreating, or a running container that is not ready.
func WithPods(workload client.Object, pods []corev1.Pod) Readiness {
	readiness := Of(workload)
	if readiness.State == Ready || readiness.State == Terminating {
		return readiness
	}
	for i := range pods {
		if problem, ok := podProblem(&pods[i]); ok {
			readiness.Reason = problem.Reason
			readiness.Message = fmt.Sprintf("pod %q: %s", pods[i].Name, problem.Message)
			return readiness
		}
	}
	return readiness
}

// podProblem returns why a pod does not become ready, and false if the pod is ready or may become
// ready without intervention.
func podProblem(p *corev1.Pod) (Readiness, bool) {
	if readiness, ok := waits(p, isCrash); ok {
		return readiness, true
	}
	if readiness, ok := waits(p, isProblem); ok {
		return readiness, true
	}
	return unscheduled(p)
}

// isProblem reports whether a container that waits for the reason needs more than time.
func isProblem(reason string) bool {
	return reason != "" && reason != "ContainerCreating" && reason != "PodInitializing"
}
