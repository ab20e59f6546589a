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

// ownerIndex finds the children of a ReverseWordsApp in the cache, by its UID.
const ownerIndex = "owner"

// SetupWithManager says what wakes the reconciler, and what does not:
//
//   - of a ReverseWordsApp, what is asked of the operator, and not the status that it
//     writes itself;
//   - of its children, everything, their status above all, but heartbeats;
//   - of their pods the same: that an image cannot be pulled reaches a Deployment's
//     status only when its deadline is over;
//   - of their ReplicaSets, that they come, go or change hands. Only they tell which
//     pods are the Deployment's own. Their metadata says it all, so that is what is
//     watched, for two rights and little memory;
//   - that the templates change, which may be about all.
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

// ownerOf is the UID of what controls a child.
func ownerOf(child client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(child); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

// appsOf are the ReverseWordsApps that a pod or a ReplicaSet belongs to: the controller of
// the Deployment that controls the ReplicaSet. Names and labels are the templates' affair and
// say nothing. Where a link of that chain is missing in the cache, be it not there yet or
// gone already, nothing counts that hangs on it; its own event is what changes that.
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

// controllerOf reads into found what controls obj, and reports whether the cache has it and
// it is of that kind.
func (r *Reconciler) controllerOf(ctx context.Context, obj client.Object, kind string, found client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil || owner.Kind != kind {
		return false
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}
	err := r.client.Get(ctx, key, found, client.DisableReadYourWritesConsistency)
	return err == nil && found.GetUID() == owner.UID
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
