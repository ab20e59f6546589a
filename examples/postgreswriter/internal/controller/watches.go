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
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/predicates"
)

// SetupWithManager sets up a controller with mgr. The controller reconciles a PostgresWriter after a
// change of its spec or metadata, at each resync, and if the sweeper finds a row without a PostgresWriter.
// The database triggers no reconcile.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	builder := ctrl.NewControllerManagedBy(mgr).
		For(&v1.PostgresWriter{}, builder.WithPredicates(predicate.Or(predicates.Primary(), predicates.Resync()))).
		WithOptions(controller.Options{MaxConcurrentReconciles: Workers, RateLimiter: ensure.RateLimiter()})
	if r.options.Sweep {
		gone := make(chan event.TypedGenericEvent[types.NamespacedName])
		if err := mgr.Add(sweeper{Reconciler: r, gone: gone}); err != nil {
			return err
		}
		builder.WatchesRawSource(source.Channel(gone, enqueue))
	}
	return builder.Complete(rowCleaner{Reconciler: r, next: reconcile.AsReconciler(r.client, r)})
}

var enqueue = handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
	GenericFunc: func(
		_ context.Context, gone event.TypedGenericEvent[types.NamespacedName],
		queue workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		queue.Add(reconcile.Request{NamespacedName: gone.Object})
	},
}
