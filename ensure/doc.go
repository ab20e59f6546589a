// Package ensure creates and updates the children of an operator with few requests: one to
// create a child, one to revert drift, and none while all children match.
//
//	e := ensure.New(mgr.GetClient(), mgr.GetAPIReader(), "application-operator") // once
//
//	res, err := ensure.Object(ctx, e, deployment, ensure.ControlledBy(app))
//	if err != nil {
//		return ensure.Retry(ctx, err)
//	}
//
// deployment is a plain object that specifies the fields the operator decides, and no others: no
// mutate function and no defaults. Set ensures several children of one owner in order, and with
// Prune deletes children that are no longer wanted. Absent deletes a single child.
//
// # How a pass detects that nothing has to be done
//
// Comparing desired with the live object does not work: the API server fills in defaults, webhooks
// rewrite fields, and controllers add some. An apply that changes nothing works, but costs a
// request in each pass. So the API server is asked once for each change that somebody made, and
// its answer is remembered:
//
//   - The digest of desired is stored in the child. A different digest means that desired
//     changed.
//   - A fingerprint of the content that the API server returned is remembered. If the live object
//     has another fingerprint, somebody changed the object, and one apply either reverts the change
//     or confirms that the change does not concern us.
//   - After a restart nothing is remembered. Then the live object must have every value that
//     desired specifies, and no other manager may have written to it since our last apply.
//     Otherwise one apply confirms the state.
//
// Writes to the status, labels and annotations of other writers, and heartbeats do not count as
// changes.
//
// # When the API server refuses a merge
//
// An apply merges desired with fields that others left in the object, and the result can be
// invalid although desired is valid. If somebody edits the port of a Service, the merge has two
// ports of the same name; a defaulted rollingUpdate conflicts with the strategy Recreate. Dry
// runs then find out which fields or list items of others are in the way. Only these are
// removed: a patch of the managed fields takes them over, and the next apply drops them.
// Result.Changes names each removed path and its manager. In a list with merge keys, only the items
// in the way are removed, and an item that desired does not have is removed as a whole. Fields
// that other programs apply, or write through a subresource, are never removed: ErrInvalid
// names them and their managers. ErrInvalid also names an item of others that needs something
// desired drops, such as a sidecar that mounts one of our volumes.
//
// If no field of others is in the way, the error is ErrInvalid, as desired itself is invalid, or
// ErrImmutable, if the API server would create desired but does not accept the change. With
// Recreate, an immutable child is deleted and created again. Nothing else deletes a child that
// is wanted.
//
// # Back-off
//
// After a failure that took requests, the same call for the same object returns the same error
// without a request: for 5 seconds, then for twice as long each time, up to 2 minutes, or up to
// 5 minutes if the call took several requests. So events of children do not send the same
// failing request again and again. If the API server is busy or out of reach, the first wait is 1
// second; if only a person can help, the first wait is the longest one. Error.After is the rest of the wait.
//
// Another desired state, another option, another object, and a call after a success are tried at
// once. If the content of the live object changed since the failure, the wait is at most a
// minute. The first two conflicts in a row are retried without a wait, because a newer copy
// usually arrives soon. Dry runs are never answered from memory. Object, Absent and Prune back off
// independently.
//
// Retry, the last line of Reconcile, returns when to reconcile again and logs errors that the
// controller does not receive. RateLimiter paces all other errors.
//
// # Contests
//
// If somebody reverts the same fields, or deletes the child, five times within two minutes, the
// error is ErrContested, which names the fields and, if known, the field manager. After
// that, one attempt is made after 10 s, 20 s and so on, up to 5 minutes. The contest ends when
// desired changes, or when our last write has stood for twice the current wait. Two instances of
// one operator that want different states are a contest, too.
//
// Two callers in one process may also want different states of one child, or desired may hold a
// random value, a time, or a list in the order of a map. This is ErrContested for all callers, once
// a desired state came back five times within two minutes, or 20 different ones were written,
// while the generation of the owner did not change. A state that stood for 5 seconds, or that was
// requested again after 2 seconds, was meant to stay and does not count when it is replaced. So
// desired may change every ten seconds, and at any time together with the owner. docs/design
// explains the decision.
//
// # Null and zero values
//
// Null is a value in free-form content (a RawExtension, JSON) and in a custom kind without a Go
// type: a nullable field with a default becomes null and not the default. Where the schema does
// not allow null, the apply is sent again without the null. An apply cannot replace a map by null: the
// map stays, and is not drift. Everywhere else null means that the field is absent.
//
// A field with omitempty that is not a pointer is absent if it is zero, such as hostNetwork:
// false. Then desired does not specify the field, and others may set it. An environment variable is
// always specified: without value and valueFrom its value is empty, and a value or source that
// others set is removed.
//
// # Objects of others
//
// An object that exists and is not ours is left alone, unless Adopt takes it over. An adopted
// object stays recognizable by the prefix adopt- of its stored digest, and Absent, Prune and Recreate
// do not delete the object. An object without a digest counts as adopted if only its managed fields, its
// UID, or the reference to its owner show that it is ours; not if an update set that reference, as
// earlier versions of an operator do, or a program that MigrateFrom names.
//
// Fields that an earlier version of the operator wrote by Update stay when desired drops them,
// unless MigrateFrom takes them over: see docs/migration.md. Release hands a field over to somebody
// else with its value. IfExists updates objects that others create. Once is for values that are set
// at creation only, such as a generated password, and IfMissing for objects that users edit.
//
// # Events and metrics
//
// WithRecorder records an event for each write, with its cause and the changed fields, and a
// Warning for each failure that a person has to resolve. The metrics are in controller-runtime's
// registry, which a manager serves:
//
//   - trueup_ensure_writes_total counts changes on the API server by group, kind, operation and
//     cause, with the values of Result: Created, Missing; Updated, DesiredChanged, Drifted, Adopted
//     or Migrated; Deleting or Released, Unwanted. A recreation counts as Deleting and then as
//     Recreated. A write that takes several requests, such as a repair, counts once. A write also
//     counts if the call then returns ErrContested, ErrForeign or ErrTerminating.
//   - trueup_ensure_requests_total counts requests by the same labels. With the operation
//     Unchanged, the API server confirmed that nothing had to be done, with Gone that there is no
//     object. With Failed, the cause is the error's Reason: the name of a class, a reason of
//     Kubernetes, Unavailable, or Unknown for a reason that a webhook made up. Dry runs and reads
//     through the reader count. Reads through the client, discovery and the client's own retries do
//     not. The counter stands still while all children match.
//   - trueup_ensure_contests_total counts contests by group and kind.
//
// A series appears with its first count. The number of series depends on the number of kinds,
// operations and causes, not of children. Labels and events of writes hold no value of a field
// except numbers and booleans; paths name list items by their keys, such as a name, a port or a
// mountPath. A call that fails after a patch that only prepares an apply records no event and counts
// no write.
//
// # Requirements
//
// The client given to New should be a manager's, because a cached read costs no request. A manager
// caches unstructured objects only with client.CacheOptions.Unstructured; otherwise each pass costs
// a GET. The operator needs these verbs:
//
//   - get, list, watch, create and patch for the kinds of the children;
//   - delete for them with Absent, Prune and Recreate, and to restore an owner reference that blocks
//     the deletion of the owner;
//   - update for the finalizers subresource of the owner's kind, if the admission plugin
//     OwnerReferencesPermissionEnforcement is enabled;
//   - create for events in the group events.k8s.io with WithRecorder.
//
// With CacheOptions.EnableReadYourWritesConsistency, a pass right after a write sees the write and
// costs no request. Without that, the cached copy may be older than the write: then the pass sends
// nothing, and Result.Stale is true. A new child that the cache does not show yet costs one read.
//
// A cache that filters by label must select the children; WithLabels adds the label to them. A
// child that the cache has not shown for two minutes is ErrHidden.
//
// A cache may strip metadata.managedFields. Where they are needed, as for MigrateFrom, Release and
// Once, the object is read from the API server. Three changes are noticed only if the cache keeps
// managed fields: an addition inside a field that the API server merges as a whole, such as a
// selector, while the operator was down; a value of ours that somebody changed and changed back, so
// that they own the field and it stays when desired drops it; and managed fields that somebody emptied.
//
// # Tests
//
// Package ensuretest runs a reconciler until it stops writing, on a fake client that answers like
// an API server, except for the differences that its page lists.
package ensure
