package controller

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/predicates"
)

const (
	// ownerIndex is an index of StatefulSets by the UID of their owner.
	ownerIndex = "owner"
	// claimsIndex is an index of claims, pods, StatefulSets and BookStores by the prefix of the names of
	// their claims.
	claimsIndex = "claims"
)

// SetupWithManager sets up a controller with mgr. The controller reconciles a BookStore after a change of
// the spec or metadata, of the children, of the claims of the database, of the pods that mount the claims,
// or of the templates.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	owned := builder.WithPredicates(predicates.Owned())
	toStores := handler.EnqueueRequestsFromMapFunc(r.requestsFor)
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.BookStore{}, builder.WithPredicates(predicates.Primary())).
		Owns(&appsv1.StatefulSet{}, owned).
		Owns(&appsv1.Deployment{}, owned).
		Owns(&corev1.Service{}, owned).
		Watches(&corev1.PersistentVolumeClaim{}, toStores, owned).
		Watches(&corev1.Pod{}, toStores, owned).
		WatchesRawSource(r.templates.Source(mgr.GetCache(), &v1alpha1.BookStoreList{})).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// index adds the indexes to the cache.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &appsv1.StatefulSet{}, ownerIndex, ownerOf); err != nil {
		return err
	}
	for _, kind := range []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.Pod{}, &appsv1.StatefulSet{}, &v1alpha1.BookStore{},
	} {
		if err := indexer.IndexField(ctx, kind, claimsIndex, claimPrefixesOf); err != nil {
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

// claimPrefixesOf returns the prefixes of the names of the claims of an object: the claim itself, the
// claims that a pod mounts, the claims of a StatefulSet, or the claims of a BookStore's last known set.
func claimPrefixesOf(obj client.Object) []string {
	switch obj := obj.(type) {
	case *appsv1.StatefulSet:
		return []string{claimPrefix(identityOf(obj))}
	case *v1alpha1.BookStore:
		if identity, ok := recordedIdentity(obj); ok {
			return []string{claimPrefix(identity)}
		}
		return nil
	case *corev1.Pod:
		var prefixes []string
		for _, claim := range claimsOf(obj) {
			if prefix, _ := parseClaim(claim); prefix != "" {
				prefixes = append(prefixes, prefix)
			}
		}
		return prefixes
	}
	prefix, _ := parseClaim(obj.GetName())
	return []string{prefix}
}

// requestsFor returns requests for the BookStores to which a claim or a pod may belong. Reconcile checks
// whether the object really belongs to the BookStore. If the StatefulSet does not exist yet, its
// creation triggers a reconcile.
func (r *Reconciler) requestsFor(ctx context.Context, obj client.Object) []reconcile.Request {
	stores := sets.New[string]()
	for _, prefix := range claimPrefixesOf(obj) {
		options := []client.ListOption{
			client.InNamespace(obj.GetNamespace()),
			client.MatchingFields{claimsIndex: prefix},
			client.DisableReadYourWritesConsistency, client.UnsafeDisableDeepCopy,
		}
		var sets appsv1.StatefulSetList
		var bookStores v1alpha1.BookStoreList
		if err := errors.Join(r.client.List(ctx, &sets, options...), r.client.List(ctx, &bookStores, options...)); err != nil {
			log.FromContext(ctx).Error(err, "cannot find the BookStores of an object", "name", obj.GetName())
		}
		for i := range sets.Items {
			if owner := metav1.GetControllerOfNoCopy(&sets.Items[i]); owner != nil {
				stores.Insert(owner.Name)
			}
		}
		for i := range bookStores.Items {
			stores.Insert(bookStores.Items[i].Name)
		}
	}
	requests := make([]reconcile.Request, 0, len(stores))
	for store := range stores {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: store}})
	}
	return requests
}

// Cached limits the cache of the manager. StatefulSets, Deployments and Services are cached if they have
// the label of this operator. If somebody removes the label from a child, ensure finds the child on the
// server and adds the label again. All pods and claims are cached, since those of others may conflict
// with a database. Of pods, only the fields that the operator reads are cached.
func Cached() map[client.Object]cache.ByObject {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: Name})}
	return map[client.Object]cache.ByObject{
		&appsv1.StatefulSet{}: own,
		&appsv1.Deployment{}:  own,
		&corev1.Service{}:     own,
		&corev1.Pod{}:         {Transform: onlyMounts},
	}
}

// onlyMounts removes fields that the operator does not read from pods, and keeps the mounted claims.
func onlyMounts(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	pod.ManagedFields, pod.Annotations = nil, nil
	pod.Spec = corev1.PodSpec{Volumes: mountsOf(pod)}
	pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Conditions: readinessOf(pod)}
	return pod, nil
}

func readinessOf(pod *corev1.Pod) []corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return []corev1.PodCondition{{Type: condition.Type, Status: condition.Status}}
		}
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	ready := readinessOf(pod)
	return pod.DeletionTimestamp == nil && len(ready) > 0 && ready[0].Status == corev1.ConditionTrue
}

func mountsOf(pod *corev1.Pod) []corev1.Volume {
	var mounts []corev1.Volume
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			mounts = append(mounts, volume)
		}
	}
	return mounts
}
