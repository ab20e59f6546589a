// Package await waits for conditions.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// first is the time between the first two looks, and last that between late ones.
	first, last = 5 * time.Millisecond, 200 * time.Millisecond
	// The pause after a look is at least ease times as long as the look took, but no longer
	// than longest for that.
	pauseFactor, maxPause = 4, time.Second
)

// Until calls try until try returns nil, an error that is [Final], or until the limit is over. The
// error then is the last one that try returned in time. The intervals between the calls grow.
func Until(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	return UntilWoken(ctx, limit, nil, try)
}

// UntilWoken is Until, but calls try soon after woken receives, and then at short intervals again.
func UntilWoken(ctx context.Context, limit time.Duration, woken <-chan struct{}, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := first
	var unmet error
	for {
		began := time.Now()
		err := try(ctx)
		shortest := max(first, min(pauseFactor*time.Since(began), maxPause))
		if final, ok := errors.AsType[*finalError](err); ok {
			return final.error
		}
		if err == nil {
			return nil
		}
		if unmet == nil || ctx.Err() == nil {
			unmet = err
		}
		next := time.After(max(pause, shortest))
		pause = min(pause*3/2, last)
		select {
		case <-ctx.Done():
		case <-next:
		case <-woken:
			pause, next = first, time.After(shortest)
			select {
			case <-ctx.Done():
			case <-next:
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("waited %s: %w", limit, unmet)
		}
	}
}

// Final marks an error that waiting does not mend.
func Final(err error) error { return &finalError{err} }

type finalError struct{ error }

// Unwrap returns the marked error.
func (e *finalError) Unwrap() error { return e.error }
