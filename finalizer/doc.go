// Package finalizer keeps an object until what was made for it is cleaned up: rows,
// buckets, DNS records, whatever no garbage collector takes along. It is the first line
// of a reconcile:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
//		going, err := finalizer.Handle(ctx, r.Client, site,
//			finalizer.Step{Name: "example.com/dns-record", Cleanup: func(ctx context.Context) error {
//				return r.dns.Delete(ctx, site.Spec.Host)
//			}},
//			finalizer.Step{Name: "example.com/database", Cleanup: func(ctx context.Context) error {
//				if r.databases.InUse(ctx, site.Name) {
//					return finalizer.Wait(10*time.Second, "the database has open connections")
//				}
//				return r.databases.Drop(ctx, site.Name)
//			}},
//		)
//		if err != nil || going.Done {
//			return ctrl.Result{RequeueAfter: going.After}, err // after a condition with going.Reason
//		}
//		// The site lives, and has both finalizers.
//		return r.serve(ctx, site)
//	}
//
// An operator whose children are in the cluster needs no finalizer for them: owner
// references have the garbage collector do it.
//
// # What can be relied on
//
// What follows Handle runs only for an object that shows every step's finalizer, as it was
// read or as the API server answered, so nothing is made that nobody would clean up. Once
// the object is going, or turns out to be gone, Done says so. (A cache that is behind, as
// after a restart, may show an object whose finalizers were removed, with them; the event
// that it is gone follows.)
//
// A Cleanup runs at least once for each object that goes with its finalizer, and again
// when the process ends, or the API server is out of reach, before the finalizer is
// removed, or when a cache shows the object once more after it has gone, as one that
// reads its writes may, too. So it takes what is gone already as success. When it fails
// or waits, its finalizer and those of the steps behind it stay; the error belongs into a
// condition, where the person who waits for the deletion can see it.
//
// One gap is the API server's own (kubernetes/kubernetes#77988, open in 1.36): when a
// delete crosses the request that adds the finalizer, both may be answered as done, and
// the object is gone without a Cleanup. It is a matter of milliseconds in the life of an
// object. Children with an owner reference are collected all the same; where something
// outside the cluster would be left, compare now and then what is there with the objects
// that want it.
//
// To give a step up, keep it until no object has its finalizer any more: nobody else
// removes it.
//
// # Writes
//
// A write is a JSON patch that tests the UID and the list of finalizers as they were
// read, and sets the list. So two controllers never lose each other's entries, which a
// merge patch does, and a write does not fail for a change elsewhere, which an update
// does. When it fails because the list changed, the deletion began or the object was
// replaced, that is a Conflict: return it, or have ensure.Retry try again without a line
// in the log.
//
// The operator needs patch on the object's kind.
//
// # Metric
//
// The histogram trueup_finalizer_held_seconds, by group, kind and finalizer, in
// controller-runtime's registry tells how long objects waited: from their
// deletionTimestamp to the removal of the finalizer.
//
// # In tests
//
// controller-runtime's fake client differs from an API server in this: objects have no
// UIDs, so that none counts as replaced; a list that changed meanwhile is a plain error
// and no Conflict; names are not checked; and it takes finalizers for an object that is
// being deleted. That of ensuretest has UIDs, answers with Conflict and takes no such
// finalizers.
package finalizer
