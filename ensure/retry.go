package ensure

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure/internal/contest"
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

// Retry returns the results of Reconcile. err is nil, an error of this package, of a status
// write, or any other error, and may join several. results are the outcomes of the children, each a
// Result or Results.
//
//	return ensure.Retry(ctx, errors.Join(err, reportErr), deployment)
//
// Retry decides when to reconcile again, and whether the controller receives the error. The
// controller logs and counts an error that it receives, and passes it to its rate limiter (see
// RateLimiter).
//
//   - An Error with After is retried after that time. Until then, the same call returns the same
//     error without a request, however often events wake the reconciler.
//   - A conflict is retried after 100 ms, and is not logged. A conflict that lasts has After.
//   - A child or owner that is being deleted is retried after 5 s. An error that a person has to
//     resolve (ErrRefused, ErrInvalid, ErrImmutable, ErrForeign, ErrHidden) is retried after
//     2 minutes.
//   - An error made by reconcile.TerminalError means that the operator itself refuses a spec. It is
//     retried after 5 minutes, as the refusal may depend on more than the spec.
//   - nil, and a cancelled context as at shutdown, need no retry.
//   - Any other error is returned to the controller.
//   - A Stale result is looked at again after a second, because a predicate may drop the event that
//     follows the write.
//
// An error that the controller does not receive is logged once with the logger of ctx, and not again
// while calls return it from memory. For joined errors and results, the soonest retry counts,
// whatever their order. If the controller receives one error, it receives all of them.
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
	case hasMoved(err), apierrors.IsConflict(err) && !answer.IsWebhook(err):
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

// Reason returns a condition reason for err: Error.Reason for an error of this package; Refused for an
// error of packages status and finalizer that the caller caused; the status reason for another answer
// of the API server; Unavailable for any other error; and the empty string for nil. Of an Aggregate, the
// first error with a reason other than Unavailable counts.
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
