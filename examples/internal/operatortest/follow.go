package operatortest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure/manifest"
)

// followLimit is how long Follow waits for an object to be enqueued.
const followLimit = 30 * time.Second

// Follow starts the source of folder as a controller would. It returns a function that waits until the
// source has enqueued an object of the kind of list, which c must have.
func Follow(t *testing.T, folder *manifest.Folder, c client.Reader, list client.ObjectList) (wait func()) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	require.NoError(t, folder.Source(c, list).Start(t.Context(), queue))
	return func() {
		t.Helper()
		watchdog := time.AfterFunc(followLimit, queue.ShutDown)
		defer watchdog.Stop()
		request, ended := queue.Get()
		require.False(t, ended, "nothing was enqueued")
		queue.Done(request)
	}
}
