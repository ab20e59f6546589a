package finalizer

import (
	"errors"
	"time"
)

// defaultWait is how long a Wait without a time waits: what takes longer than a
// Cleanup can stay for is seldom done sooner.
const defaultWait = 5 * time.Second

// Wait is what a Cleanup returns if it is not done yet: what it waits for, and when it
// should be called again, which is 5 s if after is zero or less. Handle turns it into
// Result.Reason and Result.After; it is no error of Handle.
//
// It may be wrapped; then Reason is the whole text. Joined with others of its sort the
// soonest counts; joined with any other error it is that error's turn.
func Wait(after time.Duration, reason string) error {
	if after <= 0 {
		after = defaultWait
	}
	if reason == "" {
		reason = "the cleanup is not done yet"
	}
	return &waitError{after: after, reason: reason}
}

type waitError struct {
	after  time.Duration
	reason string
}

func (e *waitError) Error() string { return e.reason }

// waitOf is how long err asks to wait, if it is nothing but a Wait.
func waitOf(err error) (time.Duration, bool) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return soonestOf(joined.Unwrap())
	}
	wait, ok := errors.AsType[*waitError](err)
	if !ok {
		return 0, false
	}
	return wait.after, true
}

func soonestOf(parts []error) (time.Duration, bool) {
	var soonest time.Duration
	for _, part := range parts {
		after, ok := waitOf(part)
		if !ok {
			return 0, false
		}
		if soonest == 0 || after < soonest {
			soonest = after
		}
	}
	return soonest, soonest > 0
}
