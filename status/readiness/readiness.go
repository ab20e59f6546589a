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
	// Ready means that the object is as its spec demands, and works.
	Ready State = "Ready"
	// InProgress means that the object is not ready yet, or no longer ready, and may become
	// ready without intervention.
	InProgress State = "InProgress"
	// Failed means that the object's controller has given up, or that the object fails again
	// and again, as a container in CrashLoopBackOff does.
	Failed State = "Failed"
	// Terminating means that the object is being deleted.
	Terminating State = "Terminating"
)

// Readiness is the state of an object and the reason for that state.
type Readiness struct {
	State State
	// Message is one sentence, without a full stop.
	Message string
}

// Of returns the readiness of obj, computed from obj alone: it sends no request and reads
// no clock, so the same object always has the same readiness.
//
// An object with a deletionTimestamp is Terminating. An object whose status has an
// observedGeneration other than metadata.generation is InProgress, and so is a
// Deployment, StatefulSet, DaemonSet or ReplicaSet that its controller has not observed
// yet: such an object is not ready with 0 of 0 pods. For all other objects the kind decides:
//
//   - A Deployment or a ReplicaSet is Ready if all its replicas are updated, ready and
//     available, and no surplus pods are left. A paused Deployment is InProgress; one whose
//     rollout exceeded its deadline is Failed.
//   - A StatefulSet is Ready under the same conditions, but pods below the partition need
//     not be updated. With the update strategy OnDelete, all pods must be updated.
//   - A DaemonSet is Ready if each node that should run a pod runs one that is updated,
//     ready and available.
//   - A Pod is Ready if it is running and its condition Ready is True, or if it succeeded.
//     A Pod is Failed if its phase is Failed, or if it is running and one of its containers
//     is in CrashLoopBackOff.
//   - A Job is Ready if it is complete, Failed if it failed, and else InProgress.
//   - A PersistentVolumeClaim is Ready if it is bound and has the requested capacity. A
//     claim that lost its volume is Failed.
//   - A Service is Ready, unless it is of type LoadBalancer and has no cluster IP. Its
//     endpoints and external addresses are not considered.
//   - A CustomResourceDefinition is Ready if it is established, and Failed if its names
//     are taken or its condition Established is False, unless it is being installed.
//   - An object of any other kind is Failed if its condition Stalled is True, else
//     InProgress if its condition Reconciling is True, else Ready if its condition Ready is
//     True or missing, else InProgress. If the deciding condition is Stalled or Ready and
//     its observedGeneration is an earlier generation, the object is InProgress. Objects
//     of most kinds (ConfigMap, Role, ...) have none of these conditions and are ready once
//     they exist. A custom object that its controller has not observed yet looks the same,
//     unless the controller writes status.observedGeneration: where that matters, check
//     whether the condition exists.
//
// Unstructured objects of the kinds above are converted; typed objects are not. The status
// is missing from a metav1.PartialObjectMetadata, which is therefore InProgress. The
// results are those of kstatus (used by kubectl and Flux), with the exceptions that
// docs/readiness.md lists and explains.
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
