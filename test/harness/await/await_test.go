package await_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/await"
)

const limit = time.Minute

var errUnmet = errors.New("unmet")

func TestUntilItIsMet(t *testing.T) {
	looks := 0
	require.NoError(t, await.Until(t.Context(), limit, func(context.Context) error {
		if looks++; looks < 3 {
			return errUnmet
		}
		return nil
	}))
	require.Equal(t, 3, looks)
}

func TestTheLastErrorIsTold(t *testing.T) {
	err := await.Until(t.Context(), time.Millisecond, func(context.Context) error { return errUnmet })
	require.ErrorIs(t, err, errUnmet)
	require.ErrorContains(t, err, "waited 1ms")
}

// The error of an ended context does not replace the last error of try.
func TestTheErrorOfTheEndIsNotTold(t *testing.T) {
	err := await.Until(t.Context(), 50*time.Millisecond, func(ctx context.Context) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errUnmet
	})
	require.ErrorIs(t, err, errUnmet)
}

func TestFinalErrorsEndIt(t *testing.T) {
	err := await.Until(t.Context(), limit, func(context.Context) error { return await.Final(errUnmet) })
	require.Equal(t, errUnmet, err)
}

// TestSlowLooks: a look that takes long is not followed by a pause that takes longer still.
func TestSlowLooks(t *testing.T) {
	const slow = 1500 * time.Millisecond
	looks := 0
	require.ErrorIs(t, await.Until(t.Context(), 3*slow, func(context.Context) error {
		looks++
		if looks == 1 {
			<-time.After(slow)
		}
		return errUnmet
	}), errUnmet)
	require.Greater(t, looks, 1)
}

// TestWoken: a wake is never waited for, however fast they come.
func TestWoken(t *testing.T) {
	woken := make(chan struct{}, 1)
	looks := 0
	require.NoError(t, await.UntilWoken(t.Context(), limit, woken, func(context.Context) error {
		if looks++; looks == 20 {
			return nil
		}
		select {
		case woken <- struct{}{}:
		default: // the last one was not needed
		}
		return errUnmet
	}))
}
