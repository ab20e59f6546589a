// Package ensure creates and updates the children of an operator with the fewest
// requests: one to create, one to put right, none while all is well.
//
//	e := ensure.New(mgr.GetClient(), mgr.GetAPIReader(), "application-operator") // once
//
//	res, err := ensure.Object(ctx, e, deployment, ensure.ControlledBy(app))
//	if err != nil {
//		return ensure.Retry(ctx, err)
//	}
//
// deployment is a plain object with what the operator cares about and nothing else:
// no mutate function, no defaults spelled out.
//
// # How it knows that nothing is to do
//
// Comparing desired with live does not work: the API server fills in defaults,
// webhooks rewrite, controllers add. Asking the server each time, by an apply that
// changes nothing, works and costs a request a pass. So the server is asked once for
// each change that somebody made, and its answer is remembered:
//
//   - The digest of what was applied is stored in the child. If desired's is
//     another, desired changed.
//   - The content that the server answered with is remembered by fingerprint. If
//     live's is another, somebody changed something; one apply puts it right, or
//     finds that it is none of our business.
//   - After a restart nothing is remembered. Then live has to hold everything that
//     desired specifies, and no other manager may have written since our apply; else
//     one apply settles it.
//
// Status writes, other writers' labels and annotations, and heartbeats are no
// changes in this sense.
//
// # When the server refuses
//
// An apply merges, and what others left in the object can make the merge invalid
// though desired is fine: whoever edits a Service's port leaves a second port of the
// same name behind, and a defaulted rollingUpdate does not go with strategy Recreate.
// Dry runs without what others left, one field or item after another, show what is in the
// way. That alone is removed: one patch of the managed fields takes it over, and the next
// apply, which no longer specifies it, drops it. Result.Changes names each path and whose it
// was. A list with keys loses only the items in the way, and an item that desired does not
// have goes whole. What other programs apply, or write through a subresource, is never
// removed: ErrInvalid names it and them. So it is if something else of others' needs what
// desired drops, such as a sidecar that mounts a volume of ours.
//
// If nothing of others' is in the way, desired is at fault, ErrInvalid, unless the server
// would create it but does not let the existing object be changed so: ErrImmutable names the
// paths. With Recreate the child is then deleted and made again; nothing else ever deletes
// one that is wanted.
//
// # When a call fails
//
// A call that sent requests and failed backs off: the same call for the same object returns the
// same error, without a request, for 5 seconds, then for twice as long each time, up to 2 minutes.
// So the events of other children, or of this one, do not have the server asked again and again.
// After a call that took several requests it is longer, up to 5 minutes. It begins with 1
// second where the server was busy or out of reach, and with the longest one where only a person
// can help. Error.After tells what is left.
//
// Another desired state, another option and another object are tried at once, and so is the next
// call after a success. If the content of the live object changed since the failure, the wait is a
// minute at most. The first two conflicts in a row are not waited for, as a newer copy is on its
// way. A dry run is never answered from memory. Absent and Prune back off by themselves.
//
// Retry, the last line of a Reconcile, returns when to come back, and logs what the controller
// does not get. RateLimiter paces all other errors.
//
// # Null and zero values
//
// Null is a value in free-form content (a RawExtension, JSON) and in a custom kind without a
// Go type: a nullable field with a default gets null and not the default. Where the schema
// does not allow null, the apply is sent again without it, as a create would drop it. An apply
// cannot replace a map by null: the map stays, and is no drift. Elsewhere null is the same as
// absence.
//
// A Go type cannot tell a field that is zero from one that is left out, where it is no
// pointer and has omitempty: hostNetwork false, say. Then desired says nothing about it, and
// others may set it. Of an environment variable desired always says something: without value
// and valueFrom it has the empty value, and a value or source that others give it is removed.
//
// # Several children
//
// Set makes the children of one owner, in order, and with Prune deletes those that are no
// longer among them. It stops at the first error.
//
//	deployment, service := deploymentFor(site), serviceFor(site)
//	children, err := ensure.Set(ctx, e, site, []client.Object{deployment, service}, ensure.Prune(&corev1.ConfigMap{}))
//
// # When others fight back
//
// Somebody may undo what we write, and a loop that puts it right at once would fight for
// ever. Once the same was undone, or the child deleted, five times within two minutes, that
// is ErrContested: it names the fields and, as far as it can be told, the field manager.
// From then on nothing is written to the child, which may be as the rival wants it, but for
// one try after 10 s, 20 s and so on up to 5 minutes. It is over when desired changes, or
// when our last write has stood for twice as long as the wait before the next would be. Two
// instances of one operator that want different things are a contest, too.
//
// What counts is only what a write of ours put back: neither stale caches, nor what a
// webhook makes of desired, nor questions that the server finds to be nothing.
//
// An operator may also fight with itself. Two controllers with one Ensurer, or two places in one,
// may want different things of a child, to be Absent or pruned included, and each write wakes
// both. Or desired holds a random value, a time, or a list in the order of a map, and is
// another at each call. Both are ErrContested, for all callers: once a desired state came
// back five times within two minutes, or 20 different ones were written, while the
// generation of the owner given to ControlledBy stood still. A desired state that stood for 5
// seconds, or that was asked for again after 2, was meant to stay: replacing it with an
// earlier one does not count, and different ones are counted from there. So desired may
// change every ten seconds for ever, and at once whenever the owner does. Such a contest is over
// with the owner's next generation, or when one desired state has stood alone.
//
// # What others write, or wrote
//
// What an earlier version of the operator wrote by Update stays when desired drops it,
// unless MigrateFrom takes it over: docs/migration.md. Release hands a field over to
// somebody else, with its value. Adopt takes over what exists and is not ours; IfExists
// changes only what somebody makes. Once is for values that are made at creation only, such as a
// generated password, and IfMissing for objects that are.
//
// What was adopted stays known as somebody else's: its stored digest begins with adopt-, in
// every later apply. Absent, Prune and Recreate do not delete it. What counts as adopted, too,
// is an object without a digest that is known to be ours by its managed fields, its UID, or a
// reference to its owner alone; not, however, if an update set that reference, as earlier
// versions of an operator do, or a program that MigrateFrom names.
//
// # What is no longer wanted
//
// Absent deletes a child that we made, gives up our fields in one that was adopted, and tells
// when nothing of ours is left: a condition of going on, or the work of a finalizer.
//
// # What it tells
//
// WithRecorder makes an event of each write: what was done to which child, why, and which
// fields changed; and a Warning of a failure that takes a person to mend. The metrics are in
// controller-runtime's registry, which a manager serves:
//
//   - trueup_ensure_writes_total counts what the API server changed, by group, kind,
//     operation and cause, as Result has them: Created, Missing; Updated, DesiredChanged,
//     Drifted, Adopted or Migrated; Deleting or Released, Unwanted. What Recreate replaces is Deleting
//     and then Recreated, both DesiredChanged or Drifted, as somebody may wait for the second
//     for long. A write that takes several requests, as a repair or MigrateFrom does, counts
//     once. So does one that ends as ErrContested, ErrForeign or ErrTerminating, if it was made
//     all the same.
//   - trueup_ensure_requests_total counts requests by the same labels, of what came of the
//     call that sent them. Unchanged: the server was asked, and found nothing to do. Gone: it
//     confirmed that there is nothing. Failed has the error's Reason as its cause: the name of
//     a class, a reason that Kubernetes itself gives, Unavailable, or Unknown for what a
//     webhook made up. Dry runs count, and so do reads through the reader. Reads through the
//     client, which should be a cache, do not, nor does what clients do by themselves:
//     discovery, and trying again. Where all is well, it stands still.
//   - trueup_ensure_contests_total counts contests by group and kind, with others, with another
//     caller and with the operator itself.
//
// A series appears with its first count. There are as many as kinds, operations and causes,
// however many children there are. No label, and no event of a write, holds a value of a field other than a
// number or a boolean; but a path names items of lists by what the API knows them by, such as
// a name, a port or a mountPath. A call that fails half-way, after a patch that prepares an
// apply, makes no event and counts no write.
//
// # What it needs
//
// Reads go through the client given to New, which should be a manager's: a cached
// read costs no request. A manager caches unstructured objects only with
// client.CacheOptions.Unstructured; else each pass costs a GET. The operator needs
// get, list, watch, create and patch on its children's kinds, delete as well for Absent,
// Prune and Recreate and to put back an owner reference that blocks deletion, and update
// on the finalizers subresource of their owner's kind where
// OwnerReferencesPermissionEnforcement is on. WithRecorder needs create on events of the group
// events.k8s.io.
//
// With CacheOptions.EnableReadYourWritesConsistency a pass right after a write sees
// that write, and costs nothing. Without it the cached copy may be older; it is then taken
// for what it is and Result.Stale says so. A child just made that the cache does not show
// yet costs one read.
//
// A cache that filters by label must select the children: stamp them WithLabels. One
// that does not is found out after two minutes: ErrHidden.
//
// A cache may strip metadata.managedFields; where they are needed, as for MigrateFrom, Release
// and Once, the object is read from the server. Three things are seen without that only if the cache keeps them:
// an addition inside what the server merges as a whole, such as a selector, made while the operator
// was down; a value of ours that somebody changed and changed back, who owns it since, so that
// it stays when desired drops it; and managed fields that somebody emptied.
//
// # In tests
//
// Package ensuretest runs a reconcile until it stops writing, on a fake client of its own
// that answers as a server does, but for what its page lists.
package ensure
