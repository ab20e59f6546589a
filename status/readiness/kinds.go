package readiness

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds are the kinds that have a readiness function of their own. All other kinds are left
// to custom.
var kinds = []ofKind{
	kind(appsv1.SchemeGroupVersion.WithKind("Deployment"), deployment),
	kind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), replicaSet),
	kind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"), statefulSet),
	kind(appsv1.SchemeGroupVersion.WithKind("DaemonSet"), daemonSet),
	kind(corev1.SchemeGroupVersion.WithKind("Pod"), pod),
	kind(batchv1.SchemeGroupVersion.WithKind("Job"), job),
	kind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), claim),
	kind(corev1.SchemeGroupVersion.WithKind("Service"), service),
	kind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), definition),
}

// An ofKind returns the readiness of an object of one kind, typed or unstructured, and
// false for an object of another kind.
type ofKind func(obj client.Object) (Readiness, bool)

// kind returns the ofKind of the kind gvk, whose Go type is T.
func kind[T any, P interface {
	*T
	client.Object
}](gvk schema.GroupVersionKind, of func(P) Readiness) ofKind {
	return func(obj client.Object) (Readiness, bool) {
		if typed, ok := obj.(P); ok {
			return of(typed), true
		}
		u, ok := obj.(runtime.Unstructured)
		if !ok || u.GetObjectKind().GroupVersionKind() != gvk {
			return Readiness{}, false
		}
		typed := P(new(T))
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.UnstructuredContent(), typed); err != nil {
			return inProgress("its content is not that of its kind"), true
		}
		return of(typed), true
	}
}
