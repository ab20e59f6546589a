package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/predicates"
)

// SetupWithManager sets up a controller with mgr. The controller reconciles a PostgresWriter after a
// change of its spec or metadata, if the checker finds work to do, and if the sweeper finds a row without a
// PostgresWriter.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	woken := make(chan event.TypedGenericEvent[types.NamespacedName])
	if err := mgr.Add(&checker{Reconciler: r, wake: woken}); err != nil {
		return err
	}
	if r.options.Sweep {
		if err := mgr.Add(sweeper{Reconciler: r, gone: woken}); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.PostgresWriter{}, builder.WithPredicates(predicates.Primary())).
		WatchesRawSource(source.Channel(woken, enqueue)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.options.Workers, RateLimiter: ensure.RateLimiter()}).
		Complete(rowCleaner{Reconciler: r, next: reconcile.AsReconciler(r.client, r)})
}

var enqueue = handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
	GenericFunc: func(
		_ context.Context, woken event.TypedGenericEvent[types.NamespacedName],
		queue workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		queue.Add(reconcile.Request{NamespacedName: woken.Object})
	},
}
