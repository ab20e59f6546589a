// Package trueup is the root of a library for Kubernetes operators: it does the work
// that every reconcile loop needs, with no write that is not needed.
//
//   - [github.com/trueup-go/trueup/ensure] creates and updates children: one request
//     when something is to do, none when nothing is.
//   - [github.com/trueup-go/trueup/finalizer] cleans up before an object goes.
//   - [github.com/trueup-go/trueup/status] writes conditions, in one request or none, and
//     judges whether a child is ready.
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
//		before := site.DeepCopy()
//
//		deployment, err := ensure.Object(ctx, r.ensure, deploymentFor(site), ensure.ControlledBy(site))
//
//		meta.SetStatusCondition(&site.Status.Conditions, ready(site, deployment, err))
//		if !equality.Semantic.DeepEqual(before.Status, site.Status) {
//			patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
//			if err := r.Status().Patch(ctx, site, patch); err != nil {
//				return ensure.Retry(err)
//			}
//		}
//		return ensure.Retry(err)
//	}
//
// deploymentFor returns a Deployment that holds what the operator cares about and
// nothing else; ready looks at deployment.Live, and takes deployment.Stale as in
// progress. The README has both. This package itself exports nothing.
package trueup
