package contest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A rival is another program that watches a child and reverts unwanted changes as fast as possible.
type rival struct {
	reverts atomic.Int64
	stop    func()
}

// startRival starts the program that calls itself name. undo reports whether there was
// anything to undo.
func startRival(
	t *testing.T, name string, list client.ObjectList, namespace string,
	undo func(ctx context.Context, c client.Client, live client.Object) (bool, error),
) *rival {
	t.Helper()
	scheme, err := program.Scheme()
	require.NoError(t, err)
	c, err := client.NewWithWatch(program.Config(shared, name), client.Options{Scheme: scheme})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	events, err := c.Watch(ctx, list, client.InNamespace(namespace))
	require.NoError(t, err)
	r, ended := &rival{}, make(chan struct{})
	go func() {
		defer close(ended)
		for change := range events.ResultChan() {
			live, ok := change.Object.(client.Object)
			if !ok || change.Type == watch.Deleted {
				continue
			}
			undone, err := undo(ctx, c, live)
			if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
				t.Errorf("%s cannot undo: %v", name, err)
			}
			if undone && err == nil {
				r.reverts.Add(1)
			}
		}
	}()
	r.stop = func() {
		cancel()
		events.Stop()
		<-ended
	}
	t.Cleanup(r.stop)
	return r
}
