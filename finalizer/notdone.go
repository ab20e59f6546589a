package finalizer

import (
	"errors"
	"time"
)

// defaultRetry is the time until the next call by default. Work that takes too long for one Cleanup is
// seldom finished sooner.
const defaultRetry = 5 * time.Second

// NotDone returns the error with which a Cleanup reports that the work is not done yet. reason
// describes the remaining work. after is the time until the next call; zero or less means 5 seconds.
// Handle returns both as Result.Reason and Result.After, and no error.
//
// If the error is wrapped, the whole text becomes the Reason. If several of these errors are joined,
// Handle uses the shortest time. If one is joined with another error, Handle returns the joined error.
func NotDone(after time.Duration, reason string) error {
	if after <= 0 {
		after = defaultRetry
	}
	if reason == "" {
		reason = "the cleanup is not done yet"
	}
	return &notDoneError{after: after, reason: reason}
}

type notDoneError struct {
	after  time.Duration
	reason string
}

func (e *notDoneError) Error() string { return e.reason }

// retryAfter returns the time until the next call, and false if err has an error other than those of
// NotDone.
func retryAfter(err error) (time.Duration, bool) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return soonestOf(joined.Unwrap())
	}
	unfinished, ok := errors.AsType[*notDoneError](err)
	if !ok {
		return 0, false
	}
	return unfinished.after, true
}

func soonestOf(parts []error) (time.Duration, bool) {
	var soonest time.Duration
	for _, part := range parts {
		after, ok := retryAfter(part)
		if !ok {
			return 0, false
		}
		if soonest == 0 || after < soonest {
			soonest = after
		}
	}
	return soonest, soonest > 0
}
