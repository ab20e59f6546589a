package readiness

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	// Message is a text without a final full stop. It may contain the messages of conditions.
	Message string
}

// Of returns the readiness of obj. The result depends only on obj: Of sends no request and reads no
// clock.
//
// An object with a deletionTimestamp is Terminating. An object whose status has an
// observedGeneration other than metadata.generation is InProgress. A Deployment, StatefulSet,
// DaemonSet or ReplicaSet that its controller has not observed yet is InProgress, too, even if it
// has 0 of 0 pods. For all other objects, the rules depend on the kind:
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
//     observedGeneration, the object is InProgress.
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
	if value := reflect.ValueOf(obj); !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil() {
		return inProgress("there is no object")
	}
	if obj.GetDeletionTimestamp() != nil {
		return Readiness{State: Terminating, Message: "it is being deleted"}
	}
	if _, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return inProgress("its status is not known, as only its metadata was read")
	}
	for _, of := range kinds {
		if readiness, ok := of(obj); ok {
			return readiness
		}
	}
	return custom(obj)
}

func ready(format string, args ...any) Readiness {
	return Readiness{State: Ready, Message: fmt.Sprintf(format, args...)}
}

func inProgress(format string, args ...any) Readiness {
	return Readiness{State: InProgress, Message: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) Readiness {
	return Readiness{State: Failed, Message: fmt.Sprintf(format, args...)}
}

// because appends the non-empty ones of reason and message to text.
func because(text, reason, message string) string {
	for _, part := range []string{reason, message} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}
