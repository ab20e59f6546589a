package controller

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/predicates"
)

// SetupWithManager says what wakes the reconciler, and what does not:
//
//   - of a ReverseWordsApp, what is asked of the operator, and not the status that it
//     writes itself;
//   - of its children, everything, their status above all, but heartbeats;
//   - of their pods the same: that an image cannot be pulled reaches a Deployment's
//     status only when its deadline is over;
//   - of their ReplicaSets, that they come, go or change hands. Only they tell which
//     pods are the Deployment's own. Their metadata says it all, so that is what is
//     watched, for two rights and little memory.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	toApp := handler.EnqueueRequestsFromMapFunc(appOf)
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.ReverseWordsApp{}, builder.WithPredicates(predicates.Primary())).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
		Owns(&corev1.Service{}, builder.WithPredicates(predicates.Owned())).
		Watches(&corev1.Pod{}, toApp, builder.WithPredicates(predicates.Owned())).
		WatchesMetadata(&appsv1.ReplicaSet{}, toApp, builder.WithPredicates(predicates.Primary())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: operator.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// appOf is the ReverseWordsApp that a pod or a ReplicaSet says it belongs to. Whether it
// does shows in the reconcile.
func appOf(_ context.Context, obj client.Object) []reconcile.Request {
	app := obj.GetLabels()[appLabel]
	if app == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: app}}}
}

// Cached narrows what the manager's cache holds to the operator's own: other people's
// pods would fill its memory. A child that loses the label is one that is missing, which
// ensure finds on the server and labels again. A pod that loses it drops out of appPods.
func Cached() map[client.Object]cache.ByObject {
	own := labels.SelectorFromSet(labels.Set{managedByLabel: Name})
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: {Label: own},
		&corev1.Service{}:    {Label: own},
		&appsv1.ReplicaSet{}: {Label: own, Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:        {Label: own, Transform: withoutSpec},
	}
}

// withoutSpec keeps of a pod what is looked at: it is only read.
func withoutSpec(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields, pod.Spec = nil, corev1.PodSpec{}
	}
	return obj, nil
}

// IsExpected tells of a warning of the API server whether it is about the finalizer's
// name, which is what it is.
func IsExpected(warning string) bool {
	return strings.HasPrefix(warning, `metadata.finalizers: "`+v1alpha1.Finalizer+`": `)
}
