package readiness

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/object"
)

// A State is one of Ready, InProgress, Failed and Terminating.
type State string

// The states of an object.
const (
	// Ready means that the object works as specified.
	Ready State = "Ready"
	// InProgress means that the object is not ready yet, or no longer ready, and may become
	// ready without intervention.
	InProgress State = "InProgress"
	// Failed means that the object's controller has given up, or that the object fails repeatedly,
	// such as a container in CrashLoopBackOff.
	Failed State = "Failed"
	// Terminating means that the object is being deleted.
	Terminating State = "Terminating"
)

// Readiness is the state of an object and the reason for that state.
type Readiness struct {
	State State
	// Reason is a word for a condition: the reason of the container, the pod or the condition that
	// decides, such as ImagePullBackOff, Unschedulable or ProgressDeadlineExceeded, and otherwise the
	// State. If State is Ready, Reason is Ready, too. The functions of this package never leave Reason
	// empty.
	Reason string
	// Message is a text without a final full stop. It may contain the messages of conditions.
	Message string
}

// Of returns the readiness of obj. The result depends only on obj: Of sends no request and reads no
// clock. Explain also reads the pods of a workload.
//
// An object with a deletionTimestamp is Terminating. An object whose status has an
// observedGeneration other than metadata.generation is InProgress. A Deployment, StatefulSet,
// DaemonSet or ReplicaSet that its controller has not observed yet is InProgress, too, even if it
// has 0 of 0 pods. A StatefulSet or DaemonSet that was recreated may keep an observedGeneration later
// than metadata.generation, which counts as observed. For all other objects, the rules depend on the
// kind:
//
//   - Deployment, ReplicaSet: Ready if all replicas are updated, ready and available, and no
//     surplus pods are left. A paused Deployment is InProgress; a Deployment whose rollout
//     exceeded the deadline is Failed.
//   - StatefulSet: Ready under the same conditions, except that pods below the partition need
//     not be updated. With the update strategy OnDelete, all pods must be updated.
//   - DaemonSet: Ready if each node that should run a pod runs one that is updated, ready and
//     available.
//   - Pod: Ready if the phase is Running and the condition Ready is True, or if the phase is
//     Succeeded. Failed if the phase is Failed, or if the phase is Running with a container in
//     CrashLoopBackOff.
//   - Job: Ready if the condition Complete is True, Failed if the condition Failed is True,
//     otherwise InProgress.
//   - PersistentVolumeClaim: Ready if bound with the requested capacity. Failed if the volume
//     is lost.
//   - Service: always Ready, except for a type LoadBalancer without a cluster IP. Endpoints
//     and external addresses are not considered.
//   - CustomResourceDefinition: Ready if established. Failed if the names are taken, or if the
//     condition Established is False with a reason other than Installing.
//   - Any other kind: Failed if the condition Stalled is True; otherwise InProgress if the
//     condition Reconciling is True; otherwise Ready if the condition Ready is True or missing;
//     otherwise InProgress. If the condition Stalled or Ready that decides has an earlier
//     observedGeneration, the object is InProgress. An observedGeneration may be a number or a string with a
//     number. If a field that decides has another type, the object is InProgress, and the message names the field.
//
// Objects of most other kinds (ConfigMap, Role, ...) have none of these conditions and are ready
// once they exist. A custom object that its controller has not observed yet is Ready for the same
// reason, unless the object has a status.observedGeneration. If this matters, check whether the
// condition exists.
//
// Unstructured objects of the kinds above are converted; typed objects are not. A
// metav1.PartialObjectMetadata has no status and is InProgress. The results are those of kstatus
// (used by kubectl and Flux), with the exceptions that docs/readiness.md lists and explains.
func Of(obj client.Object) Readiness {
	if object.IsUnusable(obj) {
		return inProgress("there is no object")
	}
	if obj.GetDeletionTimestamp() != nil {
		return newReadiness(Terminating, "it is being deleted")
	}
	if _, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return inProgress("its status is not known, as only its metadata was read")
	}
	known, err := typed(obj)
	if err != nil {
		return inProgress("its content is not that of its kind")
	}
	return ofKind(known)
}

// ofKind returns the readiness of obj by the rules for its Go type.
func ofKind(obj client.Object) Readiness {
	switch obj := obj.(type) {
	case *appsv1.Deployment:
		return deployment(obj)
	case *appsv1.ReplicaSet:
		return replicaSet(obj)
	case *appsv1.StatefulSet:
		return statefulSet(obj)
	case *appsv1.DaemonSet:
		return daemonSet(obj)
	case *corev1.Pod:
		return pod(obj)
	case *batchv1.Job:
		return job(obj)
	case *corev1.PersistentVolumeClaim:
		return claim(obj)
	case *corev1.Service:
		return service(obj)
	case *apiextensionsv1.CustomResourceDefinition:
		return definition(obj)
	}
	return custom(obj)
}

func newReadiness(state State, format string, args ...any) Readiness {
	return Readiness{State: state, Reason: string(state), Message: fmt.Sprintf(format, args...)}
}

func ready(format string, args ...any) Readiness { return newReadiness(Ready, format, args...) }

func inProgress(format string, args ...any) Readiness {
	return newReadiness(InProgress, format, args...)
}

func failed(message string) Readiness { return newReadiness(Failed, "%s", message) }

// because returns r with the reason and the message of the container, the pod or the condition that
// decides. Both may be empty.
func (r Readiness) because(reason, message string) Readiness {
	r.Reason = cmp.Or(reason, r.Reason)
	for _, part := range []string{reason, message} {
		if part != "" {
			r.Message += ": " + part
		}
	}
	return r
}
