package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status/readiness"
)

// SetupWithManager sets up a controller with mgr. The controller reconciles an Application after a change
// of its spec or metadata, of its children, of its pods, and of the templates, and at each resync. A pod
// reports at once why it does not become ready. The Deployment only reports that pods are not ready, and
// only after the progress deadline. The metadata of a ReplicaSet connects pods with their Deployment, and
// may be seen after the pods.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	owned := builder.WithPredicates(predicates.Owned())
	toApp := handler.EnqueueRequestsFromMapFunc(readiness.OwnerOf(r.client, &v1alpha1.Application{}, &appsv1.Deployment{}))
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Application{}, builder.WithPredicates(predicate.Or(predicates.Primary(), predicates.Resync()))).
		Owns(&corev1.Secret{}, owned).
		Owns(&appsv1.Deployment{}, owned).
		Owns(&corev1.Service{}, owned).
		Watches(&corev1.Pod{}, toApp, owned).
		WatchesMetadata(&appsv1.ReplicaSet{}, toApp, builder.WithPredicates(predicates.Primary())).
		WatchesRawSource(r.templates.Source(mgr.GetCache(), &v1alpha1.ApplicationList{})).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// Cached limits the cache of the manager to objects with the label of this operator. The operator should
// not read other Secrets, and other Deployments, Services and pods would fill its memory. If somebody
// removes the label from a child, ensure finds the child on the server and adds the label again.
func Cached() map[client.Object]cache.ByObject {
	own := labels.SelectorFromSet(labels.Set{operator.ManagedByLabel: Name})
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}:     {Label: own},
		&appsv1.Deployment{}: {Label: own},
		&corev1.Service{}:    {Label: own},
		&appsv1.ReplicaSet{}: {Label: own, Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:        {Label: own, Transform: readiness.TrimPod},
	}
}
