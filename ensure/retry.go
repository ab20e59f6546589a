package ensure

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/internal/answer"
)

// How long Retry waits: for another writer to be done, for the cache, for a deletion to end,
// for a person to act, and for a spec that the operator itself refused.
const (
	retryConflict    = 100 * time.Millisecond
	retryStale       = time.Second
	retryTerminating = 5 * time.Second
	retryPerson      = 2 * time.Minute
	retryTerminal    = 5 * time.Minute
)

// Retry is what Reconcile returns at its end: for err, which is nil or an error of this package,
// of a status write, or any other, several of them joined, and for the results of its children,
// each a Result or Results.
//
//	return ensure.Retry(ctx, errors.Join(err, reportErr), deployment)
//
// It tells when to reconcile next, and whether the controller gets the error, which the
// controller logs, counts and passes to its rate limiter (see RateLimiter):
//
//   - An Error with After is tried again after that time. Until then the same call is answered
//     with the same error, without a request, however often events wake the reconciler.
//   - A conflict is tried again after 100 ms, without a line in the log. One that stays has After.
//   - A child or owner that is being deleted is tried again after 5 s, and what needs a person
//     (ErrRefused, ErrInvalid, ErrImmutable, ErrForeign, ErrHidden) after 2 minutes.
//   - An error wrapped by reconcile.TerminalError is the operator's own refusal of a spec. It is
//     tried again after 5 minutes, as the refusal may depend on more than the spec.
//   - A cancelled context, as at shutdown, needs no retry, nor does nil.
//   - Any other error is returned, for the controller.
//   - A Stale result needs another look after a second: the event that ends it may not come, if
//     the last write changed nothing that a predicate lets pass.
//
// An error that the controller does not get is logged once, with the logger of ctx: not when a
// call is answered with it again. Of joined errors and results the soonest retry counts, whatever
// their order; if one error is for the controller, it gets them all.
func Retry(ctx context.Context, err error, results ...interface{ hasStale() bool }) (reconcile.Result, error) {
	next := planFor(err)
	if next.isReturned {
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

// A plan is what Retry does about an error.
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
	case hasMoved(err), apierrors.IsConflict(err) && !answer.IsWebhook(err):
		return plan{after: retryConflict}
	case errors.Is(err, ErrTerminating), errors.Is(err, ErrOwnerTerminating):
		return plan{after: retryTerminating, isNews: isNews}
	case errors.Is(err, ErrContested):
		return plan{after: leastWait, isNews: isNews}
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

// hasStale lets Retry take a Result.
func (r Result[T]) hasStale() bool { return r.Stale }

// hasStale lets Retry take Results.
func (r Results) hasStale() bool {
	for _, child := range r.Children {
		if child.Stale {
			return true
		}
	}
	return false
}

// Reason is a condition reason for err: Error.Reason for an error of this package, Refused
// for one of packages status and finalizer that is the caller's, the status reason for
// another answer of the API server, Unavailable for anything else, and empty for nil. Of an
// Aggregate the first error that has another reason than Unavailable counts.
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
		return reasons[ErrRefused]
	case errors.As(err, &aggregate):
		return firstReason(aggregate.Errors())
	}
	return apiReason(err)
}

func firstReason(errs []error) string {
	for _, err := range errs {
		if reason := Reason(err); reason != unavailable {
			return reason
		}
	}
	return unavailable
}
