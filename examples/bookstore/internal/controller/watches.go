package controller

import (
	"context"

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

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/predicates"
)

// storeIndex finds the claims that have the name of one of a BookStore's database, and the
// pods that mount them, by the BookStore's name.
const storeIndex = "bookstore"

// SetupWithManager has the reconciler wake for what is asked of it, its own status writes
// excepted; for whatever happens to its children, their status included; and for the
// claims of databases and the pods that mount them, as those tell how a volume grows.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	for _, kind := range []client.Object{&corev1.PersistentVolumeClaim{}, &corev1.Pod{}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, kind, storeIndex, storesOf); err != nil {
			return err
		}
	}
	owned := builder.WithPredicates(predicates.Owned())
	toStores := handler.EnqueueRequestsFromMapFunc(requestsFor)
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.BookStore{}, builder.WithPredicates(predicates.Primary())).
		Owns(&appsv1.StatefulSet{}, owned).
		Owns(&appsv1.Deployment{}, owned).
		Owns(&corev1.Service{}, owned).
		Watches(&corev1.PersistentVolumeClaim{}, toStores, owned).
		Watches(&corev1.Pod{}, toStores, owned).
		WithOptions(controller.Options{RateLimiter: operator.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// storesOf names the BookStores that a claim, or a pod by the claims that it mounts, is
// about. Whether it belongs to them shows in the reconcile.
func storesOf(obj client.Object) []string {
	claims := []string{obj.GetName()}
	if pod, ok := obj.(*corev1.Pod); ok {
		claims = claimsOf(pod)
	}
	var stores []string
	for _, claim := range claims {
		if store, _ := parseClaim(claim); store != "" {
			stores = append(stores, store)
		}
	}
	return stores
}

func requestsFor(_ context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, store := range storesOf(obj) {
		requests = append(requests, reconcile.Request{
			NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: store},
		})
	}
	return requests
}

// Cached narrows what the manager's cache holds. Of children only the operator's own: one
// that loses the label is one that is missing, which ensure finds on the server and labels
// again. Of pods and claims all, as a stranger's may be in the way of a database; but of
// each only what is looked at.
func Cached() map[client.Object]cache.ByObject {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: Name})}
	return map[client.Object]cache.ByObject{
		&appsv1.StatefulSet{}: own,
		&appsv1.Deployment{}:  own,
		&corev1.Service{}:     own,
		&corev1.Pod{}:         {Transform: onlyMounts},
	}
}

// onlyMounts keeps of a pod which claims it mounts and what is looked at beside.
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
