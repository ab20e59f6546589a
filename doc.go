// Package trueup is the root of a library for Kubernetes operators: it does the work
// that every reconcile loop needs, with no write that is not needed.
//
//   - [github.com/trueup-go/trueup/ensure] creates and updates children: one request
//     when something is to do, none when nothing is.
//   - [github.com/trueup-go/trueup/ensure/manifest] makes children from manifests in files.
//   - [github.com/trueup-go/trueup/ensure/ensuretest] is for the tests of operators.
//   - [github.com/trueup-go/trueup/finalizer] cleans up before an object goes.
//   - [github.com/trueup-go/trueup/status] writes conditions, in one request or none.
//   - [github.com/trueup-go/trueup/status/readiness] computes whether a child is ready.
//   - [github.com/trueup-go/trueup/predicates] wakes a reconciler for the right events.
//   - [github.com/trueup-go/trueup/hash] computes the digest of a desired state, the
//     same under every version of k8s.io/api.
//
// A complete Reconcile, for a custom resource that wants one Deployment:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
//		if site.DeletionTimestamp != nil {
//			return ctrl.Result{}, nil // the garbage collector takes the Deployment along
//		}
//		set := status.For(site) // what this pass finds out is true of this generation
//
//		deployment, err := ensure.Object(ctx, r.ensure, deploymentFor(site), ensure.ControlledBy(site))
//
//		reportErr := status.Patch(ctx, r.Client, site, func(site *Website) {
//			conditions := &site.Status.Conditions
//			switch {
//			case err != nil:
//				set.False(conditions, "Ready", ensure.Reason(err), err.Error())
//			case deployment.Stale:
//				set.False(conditions, "Ready", "InProgress", "what was written is not seen yet")
//			default:
//				set.Child(conditions, "Ready", readiness.Of(deployment.Live))
//			}
//		})
//		return ensure.Retry(ctx, errors.Join(err, reportErr), deployment)
//	}
//
// deploymentFor returns a Deployment that holds what the operator cares about and
// nothing else. A result that is Stale tells of a copy older than our own write, which
// says nothing about readiness. Several children are one ensure.Set. The README has the
// whole reconciler. This package itself exports nothing.
package trueup
