// Package finalizer keeps an object until everything outside the cluster that belongs to the
// object is cleaned up: rows, buckets, DNS records. A reconcile begins with Handle:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
//		result, err := finalizer.Handle(ctx, r.Client, site,
//			finalizer.Step{Name: "example.com/dns-record", Cleanup: func(ctx context.Context) error {
//				return r.dns.Delete(ctx, site.Spec.Host)
//			}},
//			finalizer.Step{Name: "example.com/database", Cleanup: func(ctx context.Context) error {
//				if r.databases.InUse(ctx, site.Name) {
//					return finalizer.NotDone(10*time.Second, "the database has open connections")
//				}
//				return r.databases.Drop(ctx, site.Name)
//			}},
//		)
//		if err != nil || result.Done {
//			return ctrl.Result{RequeueAfter: result.After}, err // and report result.Reason in a condition
//		}
//		// The site is not being deleted, and has both finalizers.
//		return r.serve(ctx, site)
//	}
//
// Children in the cluster need no finalizer: with an owner reference, garbage collection
// deletes them.
//
// # Guarantees
//
// A reconcile continues after Handle only if the object has the finalizer of every step, as read or
// as returned by the API server. So the finalizers exist before the reconcile creates anything.
// Result.Done reports that the object is being deleted or gone. (An outdated cache, for example
// after a restart, can show an object and its finalizers although both are gone; the delete event
// follows.)
//
// A Cleanup runs at least once for each deleted object that has the finalizer of the step. A
// Cleanup runs again if the process ends or the API server becomes unreachable before the finalizer
// is removed. A Cleanup also runs again if a cache still shows the object afterwards, which can
// happen even with read-your-writes consistency. So a Cleanup must succeed if everything is cleaned
// up already. If a Cleanup fails or waits, its finalizer and the finalizers of the later steps
// stay. Report the error in a condition, so that the person who waits for the deletion finds it.
//
// The API server has one gap (kubernetes/kubernetes#77988, open in 1.36): if a delete and the
// request that adds the finalizer arrive at the same time, both can succeed, and the object
// disappears without a Cleanup. The gap lasts a few milliseconds in the life of an object. Garbage
// collection still deletes children with an owner reference. To find orphans outside the cluster,
// compare everything outside the cluster with the existing objects from time to time.
//
// Before you remove a step from the code, wait until no object has its finalizer any more: nothing
// else removes that finalizer.
//
// # Writes
//
// A write is a JSON patch that tests the UID and the list of finalizers as they were read, and
// sets the list. Unlike a merge patch, such a write never removes an entry that another
// controller added. Unlike an update, the write does not fail because another field changed.
// The write fails with a Conflict if the list changed, the deletion began or the object was
// replaced: return the Conflict, or let ensure.Retry retry without logging an error.
//
// The operator needs the right to patch the object's kind.
//
// # Metric
//
// The histogram trueup_finalizer_held_seconds, by group, kind and finalizer, measures how
// long deletions waited: from the deletionTimestamp to the removal of the finalizer. It is in
// controller-runtime's registry.
//
// # In tests
//
// controller-runtime's fake client differs from an API server: objects have no UIDs, so no
// object counts as replaced; a list that changed causes a plain error instead of a Conflict;
// names are not checked; and an object that is being deleted can get new finalizers. The fake
// client of package ensuretest has UIDs, returns a Conflict and refuses new finalizers for an
// object that is being deleted.
package finalizer
