package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/trueup-go/trueup/test/harness/await"
)

// requestTimeout bounds a request to an API server that may be killed meanwhile.
const requestTimeout = 10 * time.Second

// until calls try again and again until try returns nil or the patience ends.
func until(ctx context.Context, what string, try func() error) error {
	err := await.Until(ctx, waitTimeout, func(context.Context) error { return try() })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w", what, err)
}

// pass lets time pass: a fault lasts for so long, or comes at such a moment.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
