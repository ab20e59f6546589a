package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status/readiness"
)

// databaseIndex is an index of claims, pods and BookStores by the prefix of the names of their claims, and of
// StatefulSets by the UID of their owner.
const databaseIndex = "database"

// SetupWithManager sets up a controller with mgr. The controller reconciles a BookStore after a change of
// the spec or metadata, of the children, of their pods and ReplicaSets, of the claims of the database, of other
// pods that mount the claims, or of the templates, after an event about the StatefulSet, after the deletion of any
// Service, and at each resync.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	owned := builder.WithPredicates(predicates.Owned())
	toStores := handler.EnqueueRequestsFromMapFunc(r.storesWithClaims)
	toOwner := handler.EnqueueRequestsFromMapFunc(
		readiness.OwnerOf(r.client, &v1alpha1.BookStore{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}))
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.BookStore{}, builder.WithPredicates(predicate.Or(predicates.Primary(), predicates.Resync()))).
		Owns(&appsv1.StatefulSet{}, owned).
		Owns(&appsv1.Deployment{}, owned).
		Owns(&corev1.Service{}, owned).
		Watches(&corev1.Service{}, handler.Funcs{DeleteFunc: r.offerName}).
		Watches(&corev1.PersistentVolumeClaim{}, toStores, owned).
		Watches(&corev1.Pod{}, toStores, owned).
		Watches(&corev1.Pod{}, toOwner, owned).
		WatchesMetadata(&appsv1.ReplicaSet{}, toOwner, builder.WithPredicates(predicates.Primary())).
		Watches(&corev1.Event{}, toOwner).
		WatchesRawSource(r.templates.Source(mgr.GetCache(), &v1alpha1.BookStoreList{})).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// index adds the index to the cache.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.Pod{}, &appsv1.StatefulSet{}, &v1alpha1.BookStore{},
	} {
		if err := indexer.IndexField(ctx, kind, databaseIndex, databaseKeysOf); err != nil {
			return err
		}
	}
	return nil
}

// databaseKeysOf returns the UID of the owner of a StatefulSet, or the prefixes of the names of the claims of
// another object: the claims of a BookStore's last known set, the claims that a pod mounts, or the claim
// itself.
func databaseKeysOf(obj client.Object) []string {
	var claims, keys []string
	switch obj := obj.(type) {
	case *appsv1.StatefulSet:
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
			keys = append(keys, string(owner.UID))
		}
	case *v1alpha1.BookStore:
		if identity, ok := recordedIdentity(obj); ok {
			keys = append(keys, claimPrefix(identity))
		}
	case *corev1.Pod:
		claims = claimsOf(obj)
	default:
		claims = []string{obj.GetName()}
	}
	for _, claim := range claims {
		if prefix, _ := parseClaim(claim); prefix != "" {
			keys = append(keys, prefix)
		}
	}
	return keys
}

// storesWithClaims returns requests for the BookStores whose database has a claim, or the claims of a pod.
// Reconcile checks whether the object really belongs to the BookStore. If the status of the BookStore does
// not name the database yet, the StatefulSet is new, and its own events trigger a reconcile.
func (r *Reconciler) storesWithClaims(ctx context.Context, obj client.Object) (requests []reconcile.Request) {
	for _, prefix := range databaseKeysOf(obj) {
		var stores v1alpha1.BookStoreList
		err := r.client.List(ctx, &stores, client.InNamespace(obj.GetNamespace()), client.MatchingFields{databaseIndex: prefix},
			client.DisableReadYourWritesConsistency, client.UnsafeDisableDeepCopy)
		if err != nil {
			log.FromContext(ctx).Error(err, "cannot find the BookStores of an object", "name", obj.GetName())
		}
		for i := range stores.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&stores.Items[i])})
		}
	}
	return requests
}

// offerName has the BookStores of a namespace reconciled when a Service is gone: one of them may want its name.
func (r *Reconciler) offerName(
	ctx context.Context, gone event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	var stores v1alpha1.BookStoreList
	err := r.client.List(ctx, &stores, client.InNamespace(gone.Object.GetNamespace()),
		client.DisableReadYourWritesConsistency, client.UnsafeDisableDeepCopy)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot find the BookStores beside a Service", "name", gone.Object.GetName())
	}
	for i := range stores.Items {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&stores.Items[i])})
	}
}

// Cached limits the cache of the manager. StatefulSets and Deployments are cached if they have the label
// of this operator. If somebody removes the label from a child, ensure finds the child on the server and
// adds the label again. All Services, pods and claims are cached, since those of others may conflict with
// a BookStore. Only events about StatefulSets are cached.
func Cached() map[client.Object]cache.ByObject {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{operator.ManagedByLabel: Name})}
	return map[client.Object]cache.ByObject{
		&appsv1.StatefulSet{}: own,
		&appsv1.Deployment{}:  own,
		&appsv1.ReplicaSet{}:  {Label: own.Label, Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:         {Transform: readiness.TrimPod},
		&corev1.Event{}: {
			Field: fields.OneTermEqualSelector("involvedObject.kind", "StatefulSet"), Transform: cache.TransformStripManagedFields(),
		},
	}
}
