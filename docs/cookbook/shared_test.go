package cookbook_test

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/predicates"
)

const (
	indexName = "shops"
	// batchTime is how long changes of shops are collected before the index is written.
	batchTime = 10 * time.Second
)

// An IndexReconciler ensures one ConfigMap in each namespace, with the images of all shops there. The name in a
// request is that of a namespace.
type IndexReconciler struct {
	client.Client
	ensure *ensure.Ensurer
}

func (r *IndexReconciler) SetupWithManager(mgr ctrl.Manager) error {
	isIndex := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == indexName })
	return ctrl.NewControllerManagedBy(mgr).
		Named("index").
		Watches(&Shop{}, enqueueNamespace(), builder.WithPredicates(predicates.Primary())).
		Watches(&corev1.ConfigMap{}, enqueueNamespace(), builder.WithPredicates(isIndex, predicates.Owned())).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(r)
}

// enqueueNamespace enqueues the namespace of an object after batchTime. The queue keeps one request for each namespace.
func enqueueNamespace() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(obj client.Object, q queue) {
		q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: obj.GetNamespace()}}, batchTime)
	}
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, e event.CreateEvent, q queue) { enqueue(e.Object, q) },
		UpdateFunc:  func(_ context.Context, e event.UpdateEvent, q queue) { enqueue(e.ObjectNew, q) },
		DeleteFunc:  func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(e.Object, q) },
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { enqueue(e.Object, q) },
	}
}

func (r *IndexReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var shops ShopList
	if err := r.List(ctx, &shops, client.InNamespace(request.Name)); err != nil {
		return ctrl.Result{}, err
	}
	images := map[string]string{}
	for _, shop := range shops.Items {
		if shop.DeletionTimestamp == nil {
			images[shop.Name] = shop.Spec.Image
		}
	}
	index := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Name, Name: indexName}, Data: images}
	if len(images) == 0 {
		gone, err := ensure.Absent(ctx, r.ensure, index)
		return ensure.Retry(ctx, err, gone)
	}
	result, err := ensure.Object(ctx, r.ensure, index)
	return ensure.Retry(ctx, err, result)
}
