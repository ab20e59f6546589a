package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// TestWritesWake: a waiter wakes for each write and each deletion of a matching object, and for
// nothing else.
func TestWritesWake(t *testing.T) {
	maps := clients(t, shared.Config()).CoreV1().ConfigMaps(shared.Namespace(t))
	awaited, stop := shared.Writes("wanted-map")
	defer stop()
	other, stop := shared.Writes("another-map")
	defer stop()

	object := configMap("wanted-map")
	require.Eventually(t, func() bool { // until the watch has begun
		_, err := maps.Create(t.Context(), object, metav1.CreateOptions{})
		require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
		object.Labels = map[string]string{"written": time.Now().Format("150405.000000000")}
		_, err = maps.Update(t.Context(), object, metav1.UpdateOptions{})
		require.NoError(t, err)
		return isWoken(awaited, tick)
	}, limit, tick)

	for range 3 {
		for isWoken(awaited, 0) { // of what was written before
		}
		object.Labels = map[string]string{"written": time.Now().Format("150405.000000000")}
		_, err := maps.Update(t.Context(), object, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.True(t, isWoken(awaited, limit))
	}
	require.NoError(t, maps.Delete(t.Context(), object.Name, metav1.DeleteOptions{}))
	require.True(t, isWoken(awaited, limit))
	require.False(t, isWoken(other, 0))
}

// isWoken reports whether a write is reported within that time.
func isWoken(writes <-chan struct{}, within time.Duration) bool {
	select {
	case <-writes:
		return true
	default:
	}
	select {
	case <-writes:
		return true
	case <-time.After(within):
		return false
	}
}

func TestAwait(t *testing.T) {
	namespace := shared.Namespace(t)
	maps := clients(t, shared.Config()).CoreV1().ConfigMaps(namespace)
	looked := make(chan struct{})
	go func() {
		<-looked
		_, err := maps.Create(context.Background(), configMap("late"), metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
		}
	}()
	looks := 0
	require.NoError(t, shared.Await(t.Context(), limit, namespace, func(ctx context.Context) error {
		_, err := maps.Get(ctx, "late", metav1.GetOptions{})
		if looks++; looks == 1 {
			require.True(t, apierrors.IsNotFound(err), "%v", err)
			close(looked)
		}
		return err
	}))

	unmet := errors.New("unmet")
	require.ErrorIs(t, shared.Await(t.Context(), tick, namespace, func(context.Context) error { return unmet }), unmet)
}

// TestAwaitEndsWithTheCluster: a wait ends when its condition cannot become true any more.
func TestAwaitEndsWithTheCluster(t *testing.T) {
	t.Parallel()
	c, err := cluster.Start(t.Context())
	require.NoError(t, err)
	looked := make(chan struct{})
	stopped := make(chan error, 1)
	go func() {
		<-looked
		stopped <- c.Stop()
	}()
	never := errors.New("it never comes")
	looks := 0
	err = c.Await(t.Context(), limit, "", func(context.Context) error {
		if looks++; looks == 1 {
			close(looked)
		}
		return never
	})
	require.Error(t, err)
	require.NotErrorIs(t, err, never, "it waited until the limit")
	require.NoError(t, <-stopped)
}
