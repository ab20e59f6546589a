// Package status tells people how an object stands: it sets conditions, judges
// children, and writes the status with the one request that it takes.
//
//	// Reconcile makes the website's Deployment so and tells how it stands.
//	func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
//		set := status.For(site) // what this pass finds out is true of this generation
//
//		deployment, err := ensure.Object(ctx, r.ensure, deploymentFor(site), ensure.ControlledBy(site))
//
//		patchErr := status.Patch(ctx, r.client, site, func(site *Website) {
//			conditions := &site.Status.Conditions
//			switch {
//			case err != nil:
//				set.False(conditions, "Deployed", ensure.Reason(err), err.Error())
//			case deployment.Stale:
//				set.False(conditions, "Deployed", "Progressing", "what was written is not seen yet")
//			default:
//				set.Child(conditions, "Deployed", readiness.Of(deployment.Live))
//			}
//			set.Ready(conditions, "Deployed")
//		}, status.Live(r.reader)) // mgr.GetAPIReader()
//
//		return ensure.Retry(ctx, errors.Join(err, patchErr), deployment)
//	}
//
// # Conditions
//
// For remembers the generation, the methods of Setter write what the API takes, whatever
// the reason and the message are: both often come from elsewhere, and a status that
// is refused for a comma tells nobody anything. Ready sums up.
//
// # Writing
//
// Patch compares the status before and after, and sends what is different, if
// anything is. Others may write conditions of theirs into the same list, and fields
// that this program's Go type does not have: none of them is touched. The operator needs
// the right to patch the status subresource, which the kind must have enabled.
//
// A write based on an outdated copy is refused by the server: the Conflict is for the next
// reconcile to settle, or for Live at once. What a reconcile found out may be outdated
// as well, then; the observedGeneration of its conditions says so.
package status
