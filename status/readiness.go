package status

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// State is how an object stands.
type State string

// The states.
const (
	// Ready: what the object specifies is there and works.
	Ready State = "Ready"
	// InProgress: not yet, or no longer; it may come by itself.
	InProgress State = "InProgress"
	// Failed: its controller has given up, or says that it fails again and again.
	Failed State = "Failed"
	// Terminating: the object is being deleted.
	Terminating State = "Terminating"
)

// Readiness is how an object stands, and why.
type Readiness struct {
	State State
	// Message is one sentence, without a full stop.
	Message string
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

// Of tells how obj, as it was read, stands. It sends nothing and knows no time: the
// same object has the same readiness.
//
// An object with a deletionTimestamp is Terminating. Where the status tells which
// generation it is of, one of another generation is InProgress, and so is a Deployment,
// StatefulSet, DaemonSet or ReplicaSet that its controller has not looked at: 0 of 0
// pods are not ready then. Beyond that, Ready means:
//
//   - Deployment, ReplicaSet: all pods that are wanted are updated, ready and available,
//     and no others are left. A rollout beyond its deadline is Failed.
//   - StatefulSet: the same, less the pods below the partition, which need not be
//     updated. With OnDelete, too, all pods have to be.
//   - DaemonSet: the same, on each node that should have a pod.
//   - Pod: ready, or completed with success. One that failed, or that runs and has a
//     container in CrashLoopBackOff, is Failed.
//   - Job: Complete. One that is under way is InProgress.
//   - PersistentVolumeClaim: bound, with the capacity that it asks for. One that lost
//     its volume is Failed.
//   - Service: always, but for type LoadBalancer without a cluster IP. Whether it has
//     endpoints, or an external address, is not looked at.
//   - CustomResourceDefinition: established. One whose names are taken is Failed.
//   - Any other kind: its condition Ready is True, and not of an earlier generation.
//     Stalled, if True and not of one either, is Failed, and Reconciling InProgress. An
//     object without these conditions is Ready: most kinds (ConfigMap, Role, …) are from
//     the start, and nothing tells a custom kind apart which its controller has not looked
//     at yet, unless it writes status.observedGeneration. Where that matters look for its
//     condition.
//
// Typed objects are looked at without conversion; unstructured ones of the kinds above
// are converted. Of metadata alone (metav1.PartialObjectMetadata) nothing can be told, so
// that it is InProgress. The answers are those of kstatus, but for what docs/readiness.md
// lists with the reason.
func Of(obj client.Object) Readiness {
	if isNil(obj) {
		return inProgress("there is no object")
	}
	if obj.GetDeletionTimestamp() != nil {
		return Readiness{State: Terminating, Message: "it is being deleted"}
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return deployment(o)
	case *appsv1.StatefulSet:
		return statefulSet(o)
	case *appsv1.DaemonSet:
		return daemonSet(o)
	case *appsv1.ReplicaSet:
		return replicaSet(o)
	case *corev1.Pod:
		return pod(o)
	case *batchv1.Job:
		return job(o)
	case *corev1.PersistentVolumeClaim:
		return claim(o)
	case *corev1.Service:
		return service(o)
	case *apiextensionsv1.CustomResourceDefinition:
		return definition(o)
	case *metav1.PartialObjectMetadata:
		return inProgress("its status is not known, as only its metadata was read")
	case runtime.Unstructured:
		return untyped(obj, o.UnstructuredContent())
	}
	return custom(obj)
}

// untyped converts what is of one of the kinds that Of knows.
func untyped(obj client.Object, content map[string]any) Readiness {
	var typed client.Object
	switch kind := obj.GetObjectKind().GroupVersionKind(); kind {
	case appsv1.SchemeGroupVersion.WithKind("Deployment"):
		typed = &appsv1.Deployment{}
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet"):
		typed = &appsv1.StatefulSet{}
	case appsv1.SchemeGroupVersion.WithKind("DaemonSet"):
		typed = &appsv1.DaemonSet{}
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):
		typed = &appsv1.ReplicaSet{}
	case corev1.SchemeGroupVersion.WithKind("Pod"):
		typed = &corev1.Pod{}
	case batchv1.SchemeGroupVersion.WithKind("Job"):
		typed = &batchv1.Job{}
	case corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"):
		typed = &corev1.PersistentVolumeClaim{}
	case corev1.SchemeGroupVersion.WithKind("Service"):
		typed = &corev1.Service{}
	case apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"):
		typed = &apiextensionsv1.CustomResourceDefinition{}
	default:
		return custom(obj)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, typed); err != nil {
		return inProgress("its content is not that of its kind")
	}
	return Of(typed)
}
