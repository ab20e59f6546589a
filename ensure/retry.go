package ensure

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// How long Retry waits: for another writer to be done, for a deletion to end, and
// for a person to act.
const (
	retryConflict    = 100 * time.Millisecond
	retryTerminating = 5 * time.Second
	retryPerson      = 2 * time.Minute
)

// Retry is what a Reconcile returns for err, one of this package or of a status
// write: a conflict is tried again after 100 ms, a child or owner on its way out after
// 5 s, a contested child after its Error.After, and what only a person can mend (a refusal,
// ErrInvalid, ErrImmutable, ErrForeign, ErrHidden) after 2 minutes, all without an error
// that the controller would log and back off from: put err into a condition, or log it. A
// cancelled context, as at shutdown, is nothing to report either. Any other error is handed
// on to the controller's rate limiter, and nil is nothing to retry.
//
//	if err != nil {
//		return ensure.Retry(err)
//	}
//
// Of joined errors the soonest wait counts, whatever their order; if one is for the rate
// limiter, all are.
func Retry(err error) (reconcile.Result, error) {
	if parts := partsOf(err); parts != nil {
		return retryAll(err, parts)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: retryConflict}, nil
	case errors.Is(err, ErrTerminating), errors.Is(err, ErrOwnerTerminating):
		return reconcile.Result{RequeueAfter: retryTerminating}, nil
	case errors.Is(err, ErrContested):
		return reconcile.Result{RequeueAfter: untilOver(err)}, nil
	case errors.Is(err, ErrRefused), errors.Is(err, ErrInvalid), errors.Is(err, ErrImmutable),
		errors.Is(err, ErrForeign), errors.Is(err, ErrHidden):
		return reconcile.Result{RequeueAfter: retryPerson}, nil
	}
	return reconcile.Result{}, err
}

// untilOver is what a contest says, and never at once.
func untilOver(err error) time.Duration {
	if contested, ok := errors.AsType[*Error](err); ok {
		return max(contested.After, leastWait)
	}
	return leastWait
}

// partsOf returns the errors that errors.Join, or an Aggregate of Kubernetes, put into err.
func partsOf(err error) []error {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return joined.Unwrap()
	}
	if aggregate, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		return aggregate.Errors()
	}
	return nil
}

func retryAll(err error, parts []error) (reconcile.Result, error) {
	soonest := reconcile.Result{}
	for _, part := range parts {
		result, handedOn := Retry(part)
		switch {
		case handedOn != nil:
			return reconcile.Result{}, err
		case result.IsZero(): // needs no retry
		case soonest.IsZero(), result.RequeueAfter < soonest.RequeueAfter:
			soonest = result
		}
	}
	return soonest, nil
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
