package controller

import (
	"context"
	"strings"

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

// ownerIndex finds the children of a ReverseWordsApp in the cache by its UID.
const ownerIndex = "owner"

// SetupWithManager wakes the reconciler for these events:
//
//   - of a ReverseWordsApp, changes of its spec and metadata, and not of the status, which the operator
//     writes itself;
//   - of its children, all changes, above all of their status, except for heartbeats;
//   - of their pods, the same: a failure to pull an image reaches the status of a Deployment only after
//     the deadline of the Deployment;
//   - of their ReplicaSets, creations, deletions and changes of the controller. Only ReplicaSets show which
//     pods belong to the Deployment. Their metadata suffices, so only metadata is watched, which takes
//     two permissions and little memory;
//   - changes of the templates, which wake all objects.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	toApp := handler.EnqueueRequestsFromMapFunc(r.appsOf)
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

// index has the cache find children by their owner.
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

// appsOf returns requests for the ReverseWordsApp to which a pod or a ReplicaSet belongs: the
// controller of the Deployment that controls the ReplicaSet. Names and labels are up to the
// templates and show nothing. If a link of the chain is missing in the cache, there is no request;
// the event of the missing object wakes the ReverseWordsApp.
func (r *Reconciler) appsOf(ctx context.Context, obj client.Object) []reconcile.Request {
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

// controllerOf reads the controller of obj into found, and reports whether the cache has a
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

// Cached limits the cache of the manager to objects of the operator: pods of others would fill its
// memory. A child that loses the label is missing in the cache; ensure finds the child on the
// server and adds the label again. A pod that loses the label is no longer in appPods.
func Cached() map[client.Object]cache.ByObject {
	own := labels.SelectorFromSet(labels.Set{managedByLabel: Name})
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: {Label: own},
		&corev1.Service{}:    {Label: own},
		&appsv1.ReplicaSet{}: {Label: own, Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:        {Label: own, Transform: withoutSpec},
	}
}

// withoutSpec removes the parts of a pod that the operator does not read. The pod is never written.
func withoutSpec(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields, pod.Spec = nil, corev1.PodSpec{}
	}
	return obj, nil
}

// IsExpected reports whether a warning of the API server is about the name of the finalizer, which
// cannot be changed.
func IsExpected(warning string) bool {
	return strings.HasPrefix(warning, `metadata.finalizers: "`+v1alpha1.Finalizer+`": `)
}
