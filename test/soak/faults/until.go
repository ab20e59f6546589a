package faults

import (
	"context"
	"fmt"
	"time"
)

const (
	// interval is the time between two looks. A look lists everything.
	interval = 100 * time.Millisecond
	// requestTimeout bounds a request to an API server that may be killed meanwhile.
	requestTimeout = 10 * time.Second
)

// until calls try again and again until it returns nil, for as long as there is patience.
func until(ctx context.Context, what string, try func() error) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("waited %s until %s: %w", patience, what, err)
		case <-time.After(interval):
		}
	}
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
