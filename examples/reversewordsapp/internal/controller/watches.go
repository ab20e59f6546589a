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
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status/readiness"
)

// workers is the number of concurrent reconciles.
const workers = 10

// SetupWithManager sets up a controller with mgr. These events trigger a reconcile:
//
//   - A change of the spec or metadata of a ReverseWordsApp. The operator writes the status itself; a resync
//     corrects what others write there.
//   - A change of a child, including its status.
//   - A change of a pod, including its status. A Deployment reports that a pod cannot pull its image only
//     after its progress deadline.
//   - A change of the metadata of a ReplicaSet, which connects pods with their Deployment, and may be seen
//     after its pods. A watch of metadata takes less memory.
//   - A change of the templates, for all ReverseWordsApps.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	toApp := handler.EnqueueRequestsFromMapFunc(readiness.OwnerOf(r.client, &v1alpha1.ReverseWordsApp{}, &appsv1.Deployment{}))
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.ReverseWordsApp{}, builder.WithPredicates(predicate.Or(predicates.Primary(), predicates.Resync()))).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
		Owns(&corev1.Service{}, builder.WithPredicates(predicates.Owned())).
		Watches(&corev1.Pod{}, toApp, builder.WithPredicates(predicates.Owned())).
		WatchesMetadata(&appsv1.ReplicaSet{}, toApp, builder.WithPredicates(predicates.Primary())).
		WatchesRawSource(r.templates.Source(mgr.GetCache(), &v1alpha1.ReverseWordsAppList{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// Cached limits the cache of the manager to objects with the label of this operator, since other pods
// would fill its memory. If somebody removes the label from a child, ensure finds the child on the
// server and adds the label again. A pod without the label is not in appPods.
func Cached() map[client.Object]cache.ByObject {
	own := labels.SelectorFromSet(labels.Set{operator.ManagedByLabel: Name})
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: {Label: own},
		&corev1.Service{}:    {Label: own},
		&appsv1.ReplicaSet{}: {Label: own, Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:        {Label: own, Transform: readiness.TrimPod},
	}
}
