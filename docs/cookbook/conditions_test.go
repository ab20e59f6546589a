package cookbook_test

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status"
)

// A ReportingReconciler reports the Deployment, the Service and the licence of a shop in a condition each.
type ReportingReconciler struct {
	client.Client
	ensure    *ensure.Ensurer
	isCovered func(ctx context.Context, shop *Shop) (bool, error) // asks the licence server
}

func (r *ReportingReconciler) Reconcile(ctx context.Context, shop *Shop) (ctrl.Result, error) {
	if shop.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector deletes the children
	}
	set := status.For(shop)

	deployment, service := deploymentFor(shop), serviceFor(shop)
	children, err := ensure.Set(ctx, r.ensure, shop, []client.Object{deployment, service})
	covered, licenceErr := r.isCovered(ctx, shop)

	reportErr := status.Patch(ctx, r.Client, shop, func(shop *Shop) {
		conditions := &shop.Status.Conditions
		set.Child(conditions, "Deployed", ensure.ResultOf(children, deployment).Readiness(err))
		set.Child(conditions, "Exposed", ensure.ResultOf(children, service).Readiness(err))
		switch {
		case licenceErr != nil:
			set.Unknown(conditions, "Licensed", "NoAnswer", licenceErr.Error())
		case covered:
			set.True(conditions, "Licensed", "Covered", "the licence covers the shop")
		default:
			set.False(conditions, "Licensed", "NotCovered", "the licence does not cover the shop")
		}
		set.Ready(conditions, "Deployed", "Exposed", "Licensed")
	})
	return ensure.Retry(ctx, errors.Join(err, licenceErr, reportErr), children)
}
