// Package trueup is the root of a library for Kubernetes operators: it does the work that every
// reconcile loop needs, without unnecessary writes.
//
//   - [github.com/trueup-go/trueup/ensure] creates and updates children, with one request for a
//     change and none otherwise.
//   - [github.com/trueup-go/trueup/ensure/manifest] renders children from manifests in files.
//   - [github.com/trueup-go/trueup/ensure/ensuretest] helps to test operators.
//   - [github.com/trueup-go/trueup/finalizer] cleans up before an object is deleted.
//   - [github.com/trueup-go/trueup/status] writes conditions, in one request or none.
//   - [github.com/trueup-go/trueup/status/readiness] computes whether a child is ready.
//   - [github.com/trueup-go/trueup/predicates] filters the events that trigger a reconcile.
//   - [github.com/trueup-go/trueup/hash] computes the digest of a desired state, the
//     same under every version of k8s.io/api.
//
// A complete Reconcile, for a custom resource with one child, a Deployment:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
//		if site.DeletionTimestamp != nil {
//			return ctrl.Result{}, nil // the garbage collector deletes the Deployment
//		}
//		set := status.For(site) // conditions get the generation of this site
//
//		deployment, err := ensure.Object(ctx, r.ensure, deploymentFor(site), ensure.ControlledBy(site))
//
//		reportErr := status.Patch(ctx, r.Client, site, func(site *Website) {
//			set.Child(&site.Status.Conditions, "Ready", deployment.Readiness(err))
//		})
//		return ensure.Retry(ctx, errors.Join(err, reportErr), deployment)
//	}
//
// deploymentFor returns a Deployment with only the fields that the operator decides. For several
// children, use ensure.Set. The README's quick start makes a whole reconciler. This package itself exports nothing.
package trueup
