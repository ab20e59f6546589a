package operator

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// LabelPods adds the labels by which the operator of that name finds the pods of a template: ManagedByLabel,
// and ownerLabel with the name of the owner. The ReplicaSets of a Deployment have these labels, too.
func LabelPods(template *corev1.PodTemplateSpec, name, ownerLabel, owner string) {
	metav1.SetMetaDataLabel(&template.ObjectMeta, ManagedByLabel, name)
	metav1.SetMetaDataLabel(&template.ObjectMeta, ownerLabel, owner)
}

// RequestByLabel returns a function that returns a request for the owner that a pod or a ReplicaSet names in
// ownerLabel. Everybody can add the label to a pod, which then only triggers a reconcile.
func RequestByLabel(ownerLabel string) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []reconcile.Request {
		name, ok := obj.GetLabels()[ownerLabel]
		if !ok {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
	}
}

// SlimPod is a transform of a cache that removes most fields that an operator does not read from pods: only
// the metadata, the volumes and the status stay. An operator never writes pods.
func SlimPod(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields, pod.Annotations = nil, nil
		pod.Spec = corev1.PodSpec{Volumes: pod.Spec.Volumes}
	}
	return obj, nil
}

// ReadyReplicas returns the number of ready pods, without the surplus pods of a rollout.
func ReadyReplicas(live *appsv1.Deployment) *int32 {
	return new(min(live.Status.ReadyReplicas, ptr.Deref(live.Spec.Replicas, 1)))
}
