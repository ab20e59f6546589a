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
// deployment, the desired object, specifies only the fields that the operator decides. It needs no
// mutate function and no defaults. Set ensures several children of one owner in order. With Prune, Set
// deletes children that are no longer desired. Absent deletes a single child. On this page, "our"
// means: of the field owner given to New.
//
// # How a reconcile detects that no change is needed
//
// A comparison of desired with the live object does not work: the API server sets defaults, webhooks
// rewrite fields, and controllers add fields. An apply that changes nothing works, but costs a request
// in each reconcile. So the Ensurer sends one apply for each change that somebody made, and remembers
// the response:
//
//   - The child stores the digest of desired. A different digest means that desired changed.
//   - The Ensurer remembers a fingerprint of the content that the API server returned. If the live
//     object has another fingerprint, somebody changed the object. One apply then reverts the change,
//     or confirms that the change does not affect desired.
//   - After a restart, the Ensurer remembers nothing. No request is needed if the live object has every
//     value that desired specifies, and no other field manager has written to it since our last apply.
//     Otherwise, one apply confirms the state.
//
// Writes to the status, and labels and annotations of other writers, do not count as changes.
//
// # When the API server refuses a merge
//
// An apply merges desired with fields that others left in the object. The result can be invalid
// although desired is valid. For example, after an edit of a Service port, the merge has two ports of
// the same name; or a defaulted rollingUpdate conflicts with the strategy Recreate. Dry runs then find
// the conflicting fields or list items of others. Only these are removed: a patch of the managed fields
// makes our field owner their only owner, and the next apply removes them. Result.Changes names each
// removed path and its field manager. In a list with merge keys, only the conflicting items are
// removed, and an item that desired does not have is removed as a whole. Fields that other programs
// apply, or write through a subresource, are never removed: ErrInvalid names them and their field
// managers. ErrInvalid also names an item of others that depends on something that desired drops, such
// as a sidecar that mounts one of our volumes.
//
// If no field of others conflicts, the error is ErrImmutable if the API server would create desired but
// does not accept the change. Otherwise desired itself is invalid, and the error is ErrInvalid. With
// Recreate, Object deletes an immutable child and creates it again. Nothing else deletes a desired
// child.
//
// # Back-off
//
// After a failure that took requests, the same call for the same object backs off: it returns the same
// error without a request. The first wait is 5 seconds for each request of the call, or 1 second if the
// API server is busy or unreachable. The wait doubles with each failure: up to 2 minutes after one
// request, a minute more for each further request, and at most 5 minutes. So events of children do not
// repeat the failing request. If several requests have shown that only a person can resolve the
// failure, the first wait is the longest one. For a child in deletion, a wait is at most a minute.
// Error.After is the remaining wait.
//
// A call does not back off after a success, or if the desired state, an option or the object differs
// from the failed call. If the content of the live object changed since the failure, the wait is at
// most a minute. The first two conflicts in a row are retried without a wait, because a newer copy
// usually arrives soon. A dry run does not back off. Object, Absent and Prune back off independently.
//
// Retry, the last call of Reconcile, decides when to reconcile again and logs errors that the
// controller does not receive. RateLimiter sets the back-off of all other errors.
//
// # Contests
//
// If somebody reverts the same fields, or deletes the child, five times within two minutes, the error
// is ErrContested. It names the fields and, if known, the field manager. The next attempt follows after
// 10 seconds, a further attempt after 20 seconds and so on, up to 5 minutes. The contest ends when
// desired changes, or when nobody has reverted our last write for twice the current wait. Two instances
// of one operator with different desired states are a contest, too. Every contest ends 10 minutes after
// the last attempt.
//
// Two callers in one process can also have different desired states of one child, or desired can hold a
// random value, a time, or a list in the order of a map. If a desired state is written again five
// times, or 20 different states are written, within two minutes and for one generation of the owner,
// all callers get ErrContested, until the owner has another generation or one state was live for 5
// seconds after a write. The replacement of a state does not count if the state was live for 5
// seconds, or if a call requested it again after 2 seconds. So desired may change every ten seconds,
// and at any time together with the generation of the owner. docs/design explains the decision.
//
// # Null and zero values
//
// Null is a value in free-form content (a RawExtension, JSON) and in a custom kind without a Go type:
// there, a nullable field with a default becomes null and not the default. If the schema does not allow
// null, the apply is sent again without the null. An apply cannot replace a map by null: the map stays,
// and does not count as drift. Everywhere else, null means that the field is absent.
//
// A field with omitempty that is not a pointer is absent if it is zero, such as hostNetwork: false.
// Desired then does not specify the field, and others may set it. The value of an environment variable
// is always specified: without value and valueFrom, the value is empty, and a value or source that
// others set is removed.
//
// # Ownership of objects
//
// Object does not change an existing object that is not ours, except with Adopt. The prefix adopt- of
// the stored digest marks an adopted object. Absent, Prune and Recreate do not delete such an object,
// unless DeleteAdopted is given to Absent or Prune. After a restart, an object without a digest counts
// as adopted if only its managed fields, or the reference to its owner, show that it is ours. It does
// not count as adopted if that reference was set by an update, as earlier versions of an operator do,
// or by a program that MigrateFrom names.
//
// Fields that an earlier version of the operator wrote by Update stay when desired drops them, unless
// MigrateFrom transfers them to our field owner: see docs/migration.md. Release gives up the ownership
// of a field and keeps its value. IfExists updates objects that others create. Once is for values that
// are set at creation only, such as a generated password, and IfMissing for objects that users edit.
//
// # Logs, events and metrics
//
// Each write is logged at level 0 with the logger of the context, as a manager provides it: the kind and
// name of the child, the operation, the cause and the changed fields. WithRecorder records an event for
// each write, with the same content, and a Warning for a failure that a person has to resolve. The
// metrics are in controller-runtime's registry, which a manager serves:
//
//   - trueup_ensure_writes_total counts changes on the API server by group, kind, operation and cause,
//     with the values of Result: Created with Missing; Updated with DesiredChanged, Drifted, Adopted or
//     Migrated; Deleting and Released with Unwanted. A recreation counts as Deleting and then as
//     Recreated, both with its cause. A write that takes several requests, such as the removal of
//     conflicting fields, counts once. The removal of our finalizers from an adopted object in deletion
//     does not count. A write also counts if the call then returns ErrContested,
//     ErrForeign or ErrTerminating.
//   - trueup_ensure_requests_total counts requests by the same labels. The operation Unchanged means
//     that the API server confirmed that no change was needed, and Gone that it confirmed that the
//     object does not exist. With the operation Failed, the cause is the error's Reason: the name of a
//     class, a reason of Kubernetes, Unavailable, or Unknown for any other reason, which a webhook may
//     return. Dry runs and reads through the reader count. Successful reads through the client,
//     discovery and the client's own retries do not count. The counter does not change while all
//     children match.
//   - trueup_ensure_contests_total counts contests by group and kind.
//
// A time series appears with its first count. The number of series depends on the number of kinds,
// operations and causes, and not on the number of children. Labels, logs and events of writes contain no
// field values except numbers and booleans, but paths name list items by their keys, such as a name, a
// port or a mountPath. A call that fails after a patch that only prepares an apply logs, records and
// counts no write.
//
// # Requirements
//
// The client given to New should be the client of a manager, because a cached read costs no request. A
// manager caches unstructured objects only with client.CacheOptions.Unstructured; otherwise, each
// reconcile costs a GET. The operator needs these verbs:
//
//   - get, list, watch, create and patch for the kinds of the children;
//   - delete for these kinds, with Absent, Prune and Recreate, and to restore an owner reference that
//     blocks the deletion of the owner;
//   - update for the finalizers subresource of the owner's kind, if the admission plugin
//     OwnerReferencesPermissionEnforcement is enabled;
//   - create for events in the group events.k8s.io with WithRecorder.
//
// With CacheOptions.EnableReadYourWritesConsistency, a reconcile right after a write sees the write and
// costs no request. Without this option, the cached copy may be older than the write. The call then
// sends nothing, and Result.Stale is true. A new child that the cache does not show yet costs one read.
//
// A cache that filters by label must select the children; WithLabels adds the label to them. If the
// cache has not shown a child for two minutes, the error is ErrHidden.
//
// A cache may strip metadata.managedFields. If these are needed, as for MigrateFrom, Release and Once,
// the object is read from the API server. Three changes are detected only if the cache keeps managed
// fields:
//
//   - an addition inside a field that the API server merges as a whole, such as a selector, while the
//     operator was down;
//   - a change of one of our values and back by somebody else, who then owns the field, so that it
//     stays when desired drops it;
//   - the removal of all managed fields.
//
// # Tests
//
// Package ensuretest runs a reconciler until it stops writing, on a fake client that responds like an
// API server, except for the differences that its page lists.
package ensure
