package operator

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Until calls try again and again until it returns nil, an error that is Final, or
// until the limit is over. Its error then is the last that try gave in time.
func Until(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var last error
	for {
		err := try(ctx)
		if _, final := errors.AsType[*finalError](err); final || err == nil {
			return err
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s: %w", limit, last)
		case <-ticker.C:
		}
	}
}

// Final marks an error that waiting does not mend.
func Final(err error) error { return &finalError{err} }

type finalError struct{ error }

// Unwrap gives the marked error.
func (e *finalError) Unwrap() error { return e.error }
