package filelock_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/filelock"
)

func TestLockIsHeldUntilItIsReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	requireHeld(t, path, false)
	first, err := filelock.Acquire(t.Context(), path)
	require.NoError(t, err)
	requireHeld(t, path, true)

	got := make(chan *filelock.Lock)
	go func() {
		second, err := filelock.Acquire(context.Background(), path)
		if err != nil {
			t.Error(err)
		}
		got <- second
	}()
	first.Release()
	second := <-got
	require.NotNil(t, second)
	requireHeld(t, path, true)
	second.Release()
	requireHeld(t, path, false)
}

func TestWhoGivesUpWaitingGetsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Acquire(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = filelock.Acquire(ctx, path)
	require.ErrorIs(t, err, context.Canceled)

	first.Release()
	next, err := filelock.Acquire(t.Context(), path)
	require.NoError(t, err, "nor does it keep the lock from others")
	next.Release()
}

func requireHeld(t *testing.T, path string, want bool) {
	t.Helper()
	held, err := filelock.Held(path)
	require.NoError(t, err)
	require.Equal(t, want, held)
}
