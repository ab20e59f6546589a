package finalizer

import (
	"errors"
	"time"
)

// defaultWait is the time that Wait uses by default. Work that takes too long for one Cleanup
// is seldom finished sooner.
const defaultWait = 5 * time.Second

// Wait does not block. It returns the error with which a Cleanup reports that the work is not done
// yet. reason describes the remaining work. after is the time until the next call; zero or less
// means 5 seconds. Handle returns both as Result.Reason and Result.After, and no error.
//
// If the error is wrapped, the whole text becomes the Reason. If several Waits are joined, Handle
// uses the shortest time. If a Wait is joined with another error, Handle returns the joined error.
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

// waitOf returns the time that err asks to wait, and false if err has an error other than a
// Wait.
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
