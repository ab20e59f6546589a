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
// mutate function and no defaults. Set ensures several children in order. Prune deletes children that
// are no longer desired, and Absent deletes one. On this page, "our" means: of the field owner of New.
//
// # How a reconcile detects that no change is needed
//
// The Ensurer sends one apply for each change that somebody made, and remembers the response:
//
//   - The child stores the digest of desired. A different digest means that desired changed.
//   - The Ensurer remembers a fingerprint of the content that the API server returned. If the live
//     object has another fingerprint, one apply reverts the change, or confirms that the change does
//     not affect desired.
//   - After a restart, no request is needed if the live object has every value that desired specifies,
//     and no other field manager has written to it since our last apply.
//
// Writes to the status, and labels and annotations of other writers, do not count as changes.
//
// # Failures
//
// If the API server refuses the merge of desired with fields of others, only fields and list items are
// removed with which it refuses desired, whatever else of others goes. If there are none, the error is
// ErrImmutable if the API server would create desired but does not accept the change, and otherwise
// ErrInvalid. With Recreate, Object deletes a child of which desired changes an immutable field, and
// creates it again. Nothing else deletes a desired child ([repair.md]).
//
// After a failure that took requests, the same call backs off for Error.After, from 5 seconds to 5
// minutes: it returns the same error without a request, however often events trigger a reconcile
// ([back-off.md]). Retry, the last call of Reconcile, decides when to reconcile again.
//
// If others revert our writes five times within two minutes, or callers keep disagreeing, the error is
// ErrContested, and writes follow at growing intervals only ([contests.md]).
//
// # Ownership and values
//
// Object does not change an existing object that is not ours, except with Adopt. Absent, Prune and
// Recreate do not delete an adopted object, unless DeleteAdopted is given to Absent or called for Prune.
//
// A field with omitempty that is not a pointer is absent if it is zero, such as hostNetwork: false, so
// others may set it. [ensure.md] has the details: ownership after a restart, null, caches, logs, events and metrics.
//
// # Requirements
//
// Use the client of a manager, because a cached read costs no request. The operator needs these verbs:
//
//   - get, list, watch, create and patch for the kinds of the children;
//   - delete for these kinds, with Absent, Prune and Recreate;
//   - get for the owner's kind, with Prune;
//   - with the admission plugin OwnerReferencesPermissionEnforcement, update for the finalizers of the
//     owner's kind, and delete for these kinds to give an existing object an owner reference;
//   - create for events in the group events.k8s.io with WithRecorder.
//
// Package ensuretest tests a reconciler without a cluster.
//
// [back-off.md]: https://github.com/trueup-go/trueup/blob/main/docs/design/back-off.md
// [contests.md]: https://github.com/trueup-go/trueup/blob/main/docs/design/contests.md
// [ensure.md]: https://github.com/trueup-go/trueup/blob/main/docs/ensure.md
// [repair.md]: https://github.com/trueup-go/trueup/blob/main/docs/design/repair.md
package ensure
