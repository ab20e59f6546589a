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
	"github.com/trueup-go/trueup/test/harness/operator"
)

// lag is longer than the time to recreate a set.
const lag = 300 * time.Millisecond

// slowPods delays the events of pods.
type slowPods struct{ http.Handler }

func (s slowPods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("watch") != "" {
		w = lateWriter{w}
	}
	s.Handler.ServeHTTP(w, r)
}

type lateWriter struct{ http.ResponseWriter }

func (w lateWriter) Write(p []byte) (int, error) {
	time.Sleep(lag) //nolint:forbidigo // this is what lags, and no test that waits
	return w.ResponseWriter.Write(p)
}

func (w lateWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// startLate runs the operator with a watch of pods that lags behind.
func startLate(t *testing.T) *operator.Process {
	t.Helper()
	return startWith(t, behind(t, installed(t), func(server http.Handler) http.Handler { return slowPods{server} }))
}

// TestLaggingPods has the operator's cache of pods lag behind the cache of sets while a set is
// recreated without its pods.
func TestLaggingPods(t *testing.T) {
	s := newScene(t, startLate(t))
	before := s.uids(t)
	s.grow(t, "3Gi")
	s.waitForDone(t)
	eventually(t, func(ctx context.Context) error {
		set := &appsv1.StatefulSet{}
		if err := human(t).Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "shop-mongodb"}, set); err != nil {
			return err
		}
		return expect(template(set) == "3Gi" && *set.Spec.Replicas == 2 && set.Status.AvailableReplicas == 2, "%+v", set.Status)
	})
	s.settle(t)
	require.Empty(t, cmp.Diff(before, s.uids(t)), "pods were killed")
}

// TestLaggingPodsRemoval has the cache of pods lag while the BookStore is deleted and its set is
// already gone.
func TestLaggingPodsRemoval(t *testing.T) {
	s := newScene(t, startLate(t), retaining(false))
	set := s.set(t)
	s.patch(t, set, `{"metadata":{"finalizers":["example.org/hold"]}}`)
	require.NoError(t, human(t).Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	eventually(t, func(context.Context) error {
		return expect(len(s.set(t).Finalizers) == 1, "orphan finalizer")
	})
	s.delete(t)
	s.waitForReason(t, v1alpha1.ReadyCondition, "Terminating")
	// a pod event right before the end
	s.patch(t, s.set(t), `{"metadata":{"finalizers":null}}`)
	s.waitUntilGone(t, s.name, s.named())
	for ordinal := range 2 {
		s.waitUntilGone(t, s.podName(ordinal), &corev1.Pod{})
		s.waitUntilGone(t, s.claimName(ordinal), &corev1.PersistentVolumeClaim{})
	}
}
