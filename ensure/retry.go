package ensure

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/util/workqueue"
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
//   - A child or owner that is being deleted, as a read shows, is retried after 5 s. An error that a person has to
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
