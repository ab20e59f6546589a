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
	// ownerIndex finds the StatefulSets of a BookStore by the UID of the BookStore.
	ownerIndex = "owner"
	// claimsIndex finds, by the prefix of the names of claims, the claims, the pods that mount them, and
	// the StatefulSets and BookStores whose claims have that prefix.
	claimsIndex = "claims"
)

// SetupWithManager wakes the reconciler for changes of a BookStore except for the status, for all
// changes of the children, for changes of the claims of databases and the pods that mount them,
// which show how a volume grows, and for changes of the templates.
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

// index has the cache find StatefulSets by their owner, and claims and whom they are about
// by their names.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &appsv1.StatefulSet{}, ownerIndex, ownerOf); err != nil {
		return err
	}
	for _, kind := range []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.Pod{}, &appsv1.StatefulSet{}, &v1alpha1.BookStore{},
	} {
		if err := indexer.IndexField(ctx, kind, claimsIndex, beginningsOf); err != nil {
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

// beginningsOf returns the prefixes of the names of the claims that an object concerns: the claim
// itself, the claims that a pod mounts, the claims that a set creates, and the claims of the last
// known set of a BookStore.
func beginningsOf(obj client.Object) []string {
	switch obj := obj.(type) {
	case *appsv1.StatefulSet:
		return []string{claims(identityOf(obj))}
	case *v1alpha1.BookStore:
		if is, ok := recorded(obj); ok {
			return []string{claims(is)}
		}
		return nil
	case *corev1.Pod:
		var beginnings []string
		for _, claim := range claimsOf(obj) {
			if beginning, _ := parseClaim(claim); beginning != "" {
				beginnings = append(beginnings, beginning)
			}
		}
		return beginnings
	}
	beginning, _ := parseClaim(obj.GetName())
	return []string{beginning}
}

// requestsFor returns requests for the BookStores that a claim, or a pod by the claims that it
// mounts, may concern. The reconcile finds out whether the object belongs to them. A set that does
// not exist yet wakes its BookStore when it is created.
func (r *Reconciler) requestsFor(ctx context.Context, obj client.Object) []reconcile.Request {
	stores := sets.New[string]()
	for _, beginning := range beginningsOf(obj) {
		called := []client.ListOption{
			client.InNamespace(obj.GetNamespace()),
			client.MatchingFields{claimsIndex: beginning},
			client.DisableReadYourWritesConsistency, client.UnsafeDisableDeepCopy,
		}
		var ofSets appsv1.StatefulSetList
		var ofStores v1alpha1.BookStoreList
		if err := errors.Join(r.client.List(ctx, &ofSets, called...), r.client.List(ctx, &ofStores, called...)); err != nil {
			log.FromContext(ctx).Error(err, "cannot tell whose it is", "name", obj.GetName())
		}
		for i := range ofSets.Items {
			if owner := metav1.GetControllerOfNoCopy(&ofSets.Items[i]); owner != nil {
				stores.Insert(owner.Name)
			}
		}
		for i := range ofStores.Items {
			stores.Insert(ofStores.Items[i].Name)
		}
	}
	requests := make([]reconcile.Request, 0, len(stores))
	for store := range stores {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: store}})
	}
	return requests
}

// Cached limits the cache of the manager. Of children, the cache has only those of the operator: a
// child that loses the label is missing; ensure finds the child on the server and adds the label
// again. Of pods and claims, the cache has all, as an object of a stranger may conflict with a
// database, but only the fields that the operator reads.
func Cached() map[client.Object]cache.ByObject {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: Name})}
	return map[client.Object]cache.ByObject{
		&appsv1.StatefulSet{}: own,
		&appsv1.Deployment{}:  own,
		&corev1.Service{}:     own,
		&corev1.Pod{}:         {Transform: onlyMounts},
	}
}

// onlyMounts removes the fields of a pod that the operator does not read. The mounted claims stay.
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
