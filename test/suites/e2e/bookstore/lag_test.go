package bookstore_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// lag is longer than the time to recreate a set.
const lag = 300 * time.Millisecond

// delayedPodWatch delays the events of pods.
type delayedPodWatch struct{ http.Handler }

func (s delayedPodWatch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("watch") != "" {
		w = delayedWriter{w}
	}
	s.Handler.ServeHTTP(w, r)
}

type delayedWriter struct{ http.ResponseWriter }

func (w delayedWriter) Write(p []byte) (int, error) {
	time.Sleep(lag) //nolint:forbidigo // this is what lags, and no test that waits
	return w.ResponseWriter.Write(p)
}

func (w delayedWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// startWithDelayedPodWatch runs the operator with a watch of pods that lags behind.
func startWithDelayedPodWatch(t *testing.T) *operator.Process {
	t.Helper()
	return startWith(t, behindProxy(t, installed(t), func(server http.Handler) http.Handler { return delayedPodWatch{server} }))
}

// TestLaggingPods has the operator's cache of pods lag behind the cache of sets while a set is
// recreated without its pods.
func TestLaggingPods(t *testing.T) {
	longform.Only(t)
	f := newFixture(t, startWithDelayedPodWatch(t))
	before := f.uids(t)
	f.grow(t, "3Gi")
	f.waitForDone(t)
	eventually(t, func(ctx context.Context) error {
		set := &appsv1.StatefulSet{}
		if err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "shop-mongodb"}, set); err != nil {
			return err
		}
		return expect(template(set) == "3Gi" && *set.Spec.Replicas == 2 && set.Status.AvailableReplicas == 2, "%+v", set.Status)
	})
	f.settle(t)
	require.Empty(t, cmp.Diff(before, f.uids(t)), "pods were killed")
}

// TestLaggingPodsRemoval has the cache of pods lag while the BookStore is deleted and its set is
// already gone.
func TestLaggingPodsRemoval(t *testing.T) {
	longform.Only(t)
	f := newFixture(t, startWithDelayedPodWatch(t), retaining(false))
	set := f.set(t)
	f.patch(t, set, `{"metadata":{"finalizers":["example.org/hold"]}}`)
	require.NoError(t, admin(t).Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	eventually(t, func(context.Context) error {
		return expect(len(f.set(t).Finalizers) == 1, "orphan finalizer")
	})
	f.delete(t)
	f.waitForReason(t, v1alpha1.ReadyCondition, "Terminating")
	// a pod event right before the end
	f.patch(t, f.set(t), `{"metadata":{"finalizers":null}}`)
	f.waitUntilGone(t, f.name, f.named())
	for ordinal := range 2 {
		f.waitUntilGone(t, f.podName(ordinal), &corev1.Pod{})
		f.waitUntilGone(t, f.claimName(ordinal), &corev1.PersistentVolumeClaim{})
	}
}
