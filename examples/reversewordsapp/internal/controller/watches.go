package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/predicates"
)

// ownerIndex is an index of children in the cache by the UID of their owner.
const ownerIndex = "owner"

// SetupWithManager sets up a controller with mgr. These events trigger a reconcile:
//
//   - A change of the spec or metadata of a ReverseWordsApp. The operator writes the status itself.
//   - A change of a child, including its status.
//   - A change of a pod, including its status. A Deployment reports that a pod cannot pull its image only
//     after its progress deadline.
//   - A change of the metadata of a ReplicaSet, which connects pods with their Deployment. A watch of
//     metadata takes less memory.
//   - A change of the templates, for all ReverseWordsApps.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	toApp := handler.EnqueueRequestsFromMapFunc(r.requestsFor)
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.ReverseWordsApp{}, builder.WithPredicates(predicates.Primary())).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
		Owns(&corev1.Service{}, builder.WithPredicates(predicates.Owned())).
		Watches(&corev1.Pod{}, toApp, builder.WithPredicates(predicates.Owned())).
		WatchesMetadata(&appsv1.ReplicaSet{}, toApp, builder.WithPredicates(predicates.Primary())).
		WatchesRawSource(r.templates.Source(mgr.GetCache(), &v1alpha1.ReverseWordsAppList{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// index adds the index of children to the cache.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		if err := indexer.IndexField(ctx, kind, ownerIndex, ownerOf); err != nil {
			return err
		}
	}
	return nil
}

// ownerOf returns the UID of the controller of a child.
func ownerOf(child client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(child); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

// requestsFor returns a request for the ReverseWordsApp of a pod or of a ReplicaSet. It follows the owner
// references up to the Deployment, since the templates decide names and labels. If the cache does not
// have one of the owners yet, there is no request: the event of that owner triggers a reconcile.
func (r *Reconciler) requestsFor(ctx context.Context, obj client.Object) []reconcile.Request {
	replicaSet := &metav1.PartialObjectMetadata{}
	replicaSet.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	if _, isPod := obj.(*corev1.Pod); isPod {
		if !r.controllerOf(ctx, obj, "ReplicaSet", replicaSet) {
			return nil
		}
		obj = replicaSet
	}
	deployment := &appsv1.Deployment{}
	if !r.controllerOf(ctx, obj, "Deployment", deployment) {
		return nil
	}
	app := metav1.GetControllerOfNoCopy(deployment)
	if app == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: app.Name}}}
}

// controllerOf reads the controller of obj from the cache into found, and reports whether the cache has a
// controller of that kind.
func (r *Reconciler) controllerOf(ctx context.Context, obj client.Object, kind string, found client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil || owner.Kind != kind {
		return false
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}
	err := r.client.Get(ctx, key, found, client.DisableReadYourWritesConsistency)
	return err == nil && found.GetUID() == owner.UID
}

// Cached limits the cache of the manager to objects with the label of this operator, since other pods
// would fill its memory. If somebody removes the label from a child, ensure finds the child on the
// server and adds the label again. A pod without the label is not in appPods.
func Cached() map[client.Object]cache.ByObject {
	own := labels.SelectorFromSet(labels.Set{managedByLabel: Name})
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: {Label: own},
		&corev1.Service{}:    {Label: own},
		&appsv1.ReplicaSet{}: {Label: own, Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:        {Label: own, Transform: withoutSpec},
	}
}

// withoutSpec removes fields that the operator does not read from pods. The operator never writes pods.
func withoutSpec(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields, pod.Spec = nil, corev1.PodSpec{}
	}
	return obj, nil
}
