package finalizer_test

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trueup-go/trueup/finalizer"
)

func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
	result, err := finalizer.Handle(ctx, r.Client, site,
		finalizer.Step{Name: "example.com/dns-record", Cleanup: func(ctx context.Context) error {
			return r.dns.Delete(ctx, site.Spec.Host)
		}},
		finalizer.Step{Name: "example.com/database", Cleanup: func(ctx context.Context) error {
			if r.databases.InUse(ctx, site.Name) {
				return finalizer.NotDone(10*time.Second, "the database has open connections")
			}
			return r.databases.Drop(ctx, site.Name)
		}},
	)
	if err != nil || result.Done {
		return ctrl.Result{RequeueAfter: result.After}, err // and report result.Reason in a condition
	}
	// The site is not being deleted, and has both finalizers.
	return r.serve(ctx, site)
}
