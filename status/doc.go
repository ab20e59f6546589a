// Package status writes the status of an object: the Setter writes conditions, and Patch
// sends the changed status with one request, or none if nothing changed.
//
//	// Reconcile ensures the website's Deployment and reports its state in a condition.
//	func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
//		set := status.For(site) // conditions get the generation of this site
//
//		deployment, err := ensure.Object(ctx, r.ensure, deploymentFor(site), ensure.ControlledBy(site))
//
//		patchErr := status.Patch(ctx, r.client, site, func(site *Website) {
//			conditions := &site.Status.Conditions
//			set.Child(conditions, "Deployed", deployment.Readiness(err))
//			set.Ready(conditions, "Deployed")
//		}, status.Live(r.reader)) // mgr.GetAPIReader()
//
//		return ensure.Retry(ctx, errors.Join(err, patchErr), deployment)
//	}
//
// # Conditions
//
// For returns a Setter for the current generation of an object. A Setter writes valid
// conditions, whatever the reason and the message are: both often come from other programs,
// and a single invalid character would make the API server refuse the whole status. The
// method Ready summarizes other conditions, and the method Child writes the readiness of a
// child, which package [github.com/trueup-go/trueup/status/readiness] computes. Warnings records
// an event for each new problem of a child.
//
// # Writing
//
// Patch compares the status before and after the change and sends only the differences.
// Conditions of other writers, and fields that the operator's Go type does not have, are
// left alone. The operator needs the right to patch the status subresource, which must be
// enabled for the kind.
//
// The API server refuses a write that is based on an outdated copy. The next reconcile resolves
// this Conflict; with the option Live, Patch resolves the Conflict at once. With Live, the
// conditions describe the older copy, as their observedGeneration shows.
package status
