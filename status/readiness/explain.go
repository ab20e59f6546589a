package readiness

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/object"
)

// Explain returns the readiness of obj, and finds out why a workload is not ready. The State is that of
// Of(obj). Reason and Message are about the first pod with a problem, in the order of names. These are
// the problems of a pod, the most telling one first:
//
//   - A container waits for the reason CrashLoopBackOff.
//   - A container waits for another reason, such as ImagePullBackOff or CreateContainerConfigError,
//     except for ContainerCreating and PodInitializing, which are part of each start.
//   - The pod is not scheduled, with a reason such as Unschedulable or SchedulingGated.
//
// The pods of a Deployment include those of earlier revisions. If no pod of a StatefulSet has a problem,
// but pods are missing, Reason is FailedCreate if the API server refuses a pod or a claim, for example
// because of a quota or of pod security. The Message then ends with that of the API server.
//
// Explain is Of, and sends no request, for an object that is Ready or Terminating, for a workload whose
// latest generation its controller has not observed yet, and for an object that is no workload. A
// workload is a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job, typed or unstructured.
//
// Otherwise, Explain calls Pods, which says what the operator needs for it. For a StatefulSet, Explain
// also lists the events in the namespace, which takes the verbs list and watch for events in the core
// group. A manager's cache would hold all events, unless its options limit it:
//
//	&corev1.Event{}: {Field: fields.OneTermEqualSelector("involvedObject.kind", "StatefulSet")}
//
// With a manager's client, the first call waits for the cache: without a permission, until ctx ends. If a
// list fails, Explain returns the error and the result of Of. TrimPod makes pods in the cache smaller, and
// OwnerOf finds the object to reconcile when the explanation changes.
//
// Explain does not find out everything. For a Deployment and a ReplicaSet, the condition ReplicaFailure
// has the message of a refusal, and so has the result. For a DaemonSet and a Job, the result only has the
// number of pods. Only the events of a pod tell that a volume cannot be mounted, or that a probe fails:
// the pod's status then shows ContainerCreating, or a running container that is not ready.
func Explain(ctx context.Context, reader client.Reader, obj client.Object) (Readiness, error) {
	readiness := Of(obj)
	if object.IsUnusable(obj) || readiness.State == Ready || readiness.State == Terminating {
		return readiness, nil
	}
	workload, err := typed(obj)
	if err != nil || !isObserved(workload) {
		return readiness, nil //nolint:nilerr // Of has reported the content that is not that of the kind
	}
	pods, err := Pods(ctx, reader, workload)
	if err != nil {
		return readiness, err
	}
	for i := range pods {
		if problem, ok := podProblem(&pods[i]); ok {
			readiness.Reason = problem.Reason
			readiness.Message = fmt.Sprintf("pod %q: %s", pods[i].Name, problem.Message)
			return readiness, nil
		}
	}
	if set, ok := workload.(*appsv1.StatefulSet); ok {
		refusal, err := refusalOf(ctx, reader, set, pods)
		if err != nil || refusal == "" {
			return readiness, err
		}
		return readiness.because(reasonFailedCreate, refusal), nil
	}
	return readiness, nil
}

// isObserved reports whether the controller of a workload has observed the latest generation. Until then,
// the pods are those of an earlier one. An object of another kind has no pods.
func isObserved(workload client.Object) bool {
	var observed int64
	switch workload := workload.(type) {
	case *appsv1.Deployment:
		observed = workload.Status.ObservedGeneration
	case *appsv1.ReplicaSet:
		observed = workload.Status.ObservedGeneration
	case *appsv1.StatefulSet:
		observed = observedOf(workload, workload.Status.ObservedGeneration)
	case *appsv1.DaemonSet:
		observed = observedOf(workload, workload.Status.ObservedGeneration)
	case *batchv1.Job:
		return true // has no observedGeneration
	}
	_, waits := unobserved(workload, observed)
	return !waits
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
