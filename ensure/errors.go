package ensure

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/internal/answer"
)

// The classes of errors, for errors.Is. Every error of this package is an *Error of exactly one class.
// docs/errors.md describes how to find and resolve the cause of each. The comments here name the
// options that allow an operation. Only the texts of ErrRefused do so, too: readers of the other texts
// may not write Go.
var (
	// ErrRefused: desired, an option or a setting is not usable. Nothing was written. This class includes errors of packages status and
	// finalizer that the caller causes.
	ErrRefused = fault.ErrRefused
	// ErrOwnerTerminating: the owner given to ControlledBy is being deleted, or does not exist any more,
	// so no child is created or updated for it.
	ErrOwnerTerminating = fault.ErrOwnerTerminating
	// ErrTerminating: the child, or its namespace, is being deleted. A later call creates the
	// child again, except with IfExists.
	ErrTerminating = fault.ErrTerminating
	// ErrForeign: an object of that name exists and is not ours. Adopt adopts an object that has no
	// controller, or that another program applied for the same owner. FormerFieldOwners says that
	// objects of earlier names of the field owner are ours. If the controller is an object of the operator,
	// pass that object to ControlledBy.
	ErrForeign = fault.ErrForeign
	// ErrHidden: the child is as desired, but the cache does not show it. If the cache filters by a label,
	// WithLabels adds the label to every child.
	ErrHidden = fault.ErrHidden
	// ErrInvalid: the API server, a webhook or an admission policy refused the child as invalid.
	ErrInvalid = fault.ErrInvalid
	// ErrImmutable: the API server would create desired, but does not accept the change of the existing
	// object, or does not accept that a change by others is reverted. Error.Paths names the fields that
	// it refuses to change. Recreate deletes the object and creates it again, RecreateOnDrift also because
	// of a change by others; kinds that hold data require Recreate inside OnlyFor. Once is for fields that
	// are set at creation only.
	ErrImmutable = fault.ErrImmutable
	// ErrContested: somebody reverts our writes repeatedly, or two callers in this process have
	// different desired states of the child, or desired differs in each call. Until Error.After has
	// passed, nothing is written to the child. Error.Rival and Error.Paths name the other writer and
	// the fields. Leave fields that the rival decides out of desired, or give them up with Release. If
	// the rival is the operator itself, give its other writes a field owner of their own
	// (client.WithFieldOwner).
	ErrContested = fault.ErrContested
	// ErrAPI: any other failure of a request, such as a conflict, a missing permission, or an
	// unreachable API server. Error.Reason, and errors.As with an apierrors.APIStatus, give the
	// details.
	ErrAPI = fault.ErrAPI
)

// An Error describes which operation failed for which object, and why. Its text has the operation, the
// kind, the namespace and name, the reason, and the API server's message: one line of at most 1 KiB,
// without parts that differ in each attempt, so that it can be written to a condition. For Secrets, and
// for kinds named by WithSensitive, the fields and types of the causes replace the message, which can
// quote the object. The StatusError that Unwrap returns has the whole message.
type Error struct {
	// Operation is the operation that failed: ensure (in none of the following requests), read, create,
	// apply, repair (the removal of conflicting fields), migrate, release, list, prune or delete.
	Operation string
	// Kind is the kind of the child, empty if the Go type is not in the scheme.
	Kind schema.GroupVersionKind
	// Key is the namespace and name of the child.
	Key types.NamespacedName
	// Reason is a condition reason: the name of the class; for ErrAPI, the API server's reason
	// (Forbidden, Conflict, …) or Unavailable.
	Reason string
	// Paths are the fields that caused the error, if they are known.
	Paths []string
	// Rival is the field manager that reverts our writes, for ErrContested; empty if it is not known.
	// For another process with our field owner, Rival is "another instance of" and the field owner; for
	// another caller, it is "another caller in this process". If desired is not deterministic, Rival is
	// our field owner.
	Rival string
	// After is how long the same call returns this error without a request. It is zero if no request
	// was sent, or if the next call may succeed. Retry waits that long.
	After time.Duration

	class  error
	detail string
	cause  error
	// isKnown means that an earlier call returned the same error: this call sent nothing.
	isKnown bool
	// isRace means that the object is no longer the one that was read, so that one more read is useful.
	isRace bool
}

// Error returns the text that is described at the type Error.
func (e *Error) Error() string { return fault.Text(e.Operation, e.Kind, e.Key, e.Reason, e.detail) }

// Is reports whether target is the class of the error.
func (e *Error) Is(target error) bool { return target == e.class }

// Unwrap returns the StatusError if the API server responded, or another cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// published returns err as callers get it.
func published(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	return &Error{
		Operation: f.Operation, Kind: f.Kind, Key: f.Key, Reason: f.Reason, Paths: f.Paths, Rival: f.Rival, After: f.After,
		class: f.Class, detail: f.Detail, cause: published(f.Cause), isKnown: f.IsKnown, isRace: f.IsRace,
	}
}

// How long Retry waits: for another writer to be done, for the cache, for a deletion to end,
// for a person to act, and for a spec that the operator itself refused.
const (
	retryConflict    = 100 * time.Millisecond
	retryStale       = time.Second
	retryTerminating = 5 * time.Second
	retryPerson      = 2 * time.Minute
	retryTerminal    = 5 * time.Minute
)

// Retry returns the results of Reconcile. err is nil or any error, such as an error of this package or
// of a status write, and may join several errors. Each of results is a Result or Results.
//
//	return ensure.Retry(ctx, errors.Join(err, reportErr), deployment)
//
// Retry decides when to reconcile again, and whether the controller receives the error. The
// controller logs and counts an error that it receives, and passes it to its rate limiter (see
// RateLimiter).
//
//   - An Error with After is retried after that time. Until then, the same call returns the same error
//     without a request, however many events trigger a reconcile.
//   - A conflict is retried after 100 ms, and is not logged. If the conflict lasts, the Error has an
//     After.
//   - A child or owner that is being deleted is retried after 5 s. An error that a person has to
//     resolve (ErrRefused, ErrInvalid, ErrImmutable, ErrForeign, ErrHidden) is retried after
//     2 minutes.
//   - An error made by reconcile.TerminalError means that the operator itself refuses a spec. It is
//     retried after 5 minutes, as the refusal may depend on more than the spec.
//   - nil is not retried, and neither is a cancelled context, as at shutdown.
//   - Any other error is returned to the controller.
//   - After a Stale result, the next reconcile is after 1 s, because a predicate may drop the event
//     that follows the write. So pass the result of each call that may be Stale: without it, nothing is
//     requeued.
//
// An error that the controller does not receive is logged once with the logger of ctx, and not again
// while calls return it from memory. For joined errors and results, Retry uses the shortest time,
// whatever their order. If one of the joined errors is returned to the controller, all of them are, and
// the controller retries even if another one is terminal.
func Retry(ctx context.Context, err error, results ...interface{ hasStale() bool }) (reconcile.Result, error) {
	next := planFor(err)
	if next.isReturned {
		if errors.Is(err, reconcile.TerminalError(nil)) {
			err = retriedError{err}
		}
		return reconcile.Result{}, err
	}
	for _, result := range results {
		if result != nil && result.hasStale() {
			next = next.and(plan{after: retryStale})
		}
	}
	if next.isNews {
		log.FromContext(ctx).Info("cannot reconcile", "reason", Reason(err), "message", err.Error(), "retryAfter", next.after.String())
	}
	return reconcile.Result{RequeueAfter: next.after}, nil
}

// A retriedError joins a terminal error with one that has to be retried. A controller does not retry an
// error that is terminal in any part.
type retriedError struct{ error }

func (e retriedError) Is(target error) bool { return !isTerminal(target) && errors.Is(e.error, target) }

func (e retriedError) As(target any) bool { return errors.As(e.error, target) }

// A plan says when Retry retries an error.
type plan struct {
	after      time.Duration // 0: nothing to retry
	isReturned bool
	isNews     bool // to be logged
}

func (p plan) and(other plan) plan {
	after := max(p.after, other.after)
	if p.after > 0 && other.after > 0 {
		after = min(p.after, other.after)
	}
	return plan{after, p.isReturned || other.isReturned, p.isNews || other.isNews}
}

// planFor looks below errors that add to the text of another, down to joined ones.
func planFor(err error) plan {
	for wrapped := err; wrapped != nil; wrapped = errors.Unwrap(wrapped) {
		if parts := partsOf(wrapped); parts != nil {
			var all plan
			for _, part := range parts {
				all = all.and(planFor(part))
			}
			return all
		}
		if isTerminal(wrapped) {
			return plan{after: retryTerminal, isNews: true}
		}
	}
	return planForOne(err)
}

func planForOne(err error) plan {
	known, isOurs := errors.AsType[*Error](err)
	isNews := !isOurs || !known.isKnown
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return plan{}
	case isOurs && known.After > 0:
		return plan{after: known.After, isNews: isNews}
	case isOurs && known.isRace, apierrors.IsConflict(err) && !answer.IsWebhook(err):
		return plan{after: retryConflict}
	case errors.Is(err, ErrTerminating), errors.Is(err, ErrOwnerTerminating):
		return plan{after: retryTerminating, isNews: isNews}
	case errors.Is(err, ErrContested):
		return plan{after: contest.LeastWait, isNews: isNews}
	case errors.Is(err, ErrRefused), errors.Is(err, ErrInvalid), errors.Is(err, ErrImmutable),
		errors.Is(err, ErrForeign), errors.Is(err, ErrHidden):
		return plan{after: retryPerson, isNews: isNews}
	}
	return plan{isReturned: true}
}

// isTerminal reports whether err itself, and not one below, was made by reconcile.TerminalError.
func isTerminal(err error) bool {
	typed, ok := err.(interface{ Is(target error) bool })
	return ok && typed.Is(reconcile.TerminalError(nil))
}

// partsOf returns the errors that errors.Join, or an Aggregate of Kubernetes, put into err itself.
func partsOf(err error) []error {
	switch joined := err.(type) { //nolint:errorlint // err itself is meant
	case interface{ Unwrap() []error }:
		return joined.Unwrap()
	case utilerrors.Aggregate:
		return joined.Errors()
	}
	return nil
}

// Reason returns a condition reason for err: Error.Reason for an error of this package; Refused for an
// error of packages status and finalizer that the caller caused; the status reason for another response
// of the API server; Unavailable for any other error; and the empty string for nil. For an Aggregate,
// Reason uses the first error with a reason other than Unavailable.
func Reason(err error) string {
	var (
		e         *Error
		aggregate utilerrors.Aggregate
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Reason
	case errors.Is(err, ErrRefused):
		return fault.ReasonOf(ErrRefused)
	case errors.As(err, &aggregate):
		return firstReason(aggregate.Errors())
	}
	return fault.APIReason(err)
}

func firstReason(errs []error) string {
	for _, err := range errs {
		if reason := Reason(err); reason != fault.Unavailable {
			return reason
		}
	}
	return fault.Unavailable
}

// How soon a reconcile that failed is tried again, at first and in the end.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// RateLimiter returns a rate limiter for one controller. It sets the back-off of errors that Retry
// returns: 5 seconds after the first failure, then twice as long each time, up to 5 minutes. The
// default rate limiter of a controller begins with 5 ms.
//
//	ctrl.NewControllerManagedBy(mgr).
//		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
//
// Do not share a rate limiter between controllers.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// refuseCall returns a refusal that is about no child in particular.
func refuseCall(detail string) *fault.Error { return (&fault.Subject{}).Refuse("", detail) }
