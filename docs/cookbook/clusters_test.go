package cookbook_test

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/predicates"
)

// A FleetReconciler ensures the Deployment of a shop in several clusters. The shops are in the manager's cluster.
type FleetReconciler struct {
	client.Client
	ensurers []*ensure.Ensurer // one for each cluster
}

func (r *FleetReconciler) SetupWithManager(mgr ctrl.Manager, clusters ...cluster.Cluster) error {
	shops := ctrl.NewControllerManagedBy(mgr).
		For(&Shop{}, builder.WithPredicates(predicates.Primary())).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()})
	for _, remote := range clusters {
		if err := mgr.Add(remote); err != nil { // starts the cache
			return err
		}
		r.ensurers = append(r.ensurers, ensure.New(remote.GetClient(), remote.GetAPIReader(), "shop-operator"))
		shops = shops.WatchesRawSource(source.Kind[client.Object](remote.GetCache(), &appsv1.Deployment{},
			handler.EnqueueRequestsFromMapFunc(sameName), predicates.Owned()))
	}
	return shops.Complete(reconcile.AsReconciler(r.Client, r))
}

// sameName returns the shop with the name of the Deployment. For another Deployment, there is no such shop.
func sameName(_ context.Context, obj client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(obj)}}
}

func (r *FleetReconciler) Reconcile(ctx context.Context, shop *Shop) (ctrl.Result, error) {
	desired := deploymentFor(shop)
	desired.Namespace = shop.Namespace // there is no owner to take the namespace from

	deletion, err := finalizer.Handle(ctx, r.Client, shop, finalizer.Step{
		Name: "shop.example.com/clusters",
		Cleanup: func(ctx context.Context) error {
			var errs []error
			for _, e := range r.ensurers {
				_, err := ensure.Absent(ctx, e, desired)
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	})
	if err != nil || deletion.Done {
		return ensure.Retry(ctx, err)
	}

	var errs []error
	var stale ensure.Result[*appsv1.Deployment]
	for _, e := range r.ensurers {
		result, err := ensure.Object(ctx, e, desired)
		if errs = append(errs, err); result.Stale {
			stale = result
		}
	}
	return ensure.Retry(ctx, errors.Join(errs...), stale)
}
