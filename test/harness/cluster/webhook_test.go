package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gomodules.xyz/jsonpatch/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func TestMutatingWebhookIsInForceUntilItIsStopped(t *testing.T) {
	maps := clients(t, shared.Config()).CoreV1().ConfigMaps(shared.Namespace(t))
	var asked atomic.Int64

	stop, err := shared.MutatingWebhook(t.Context(), "marker", configMapCreates(), marker(func() { asked.Add(1) }))
	require.NoError(t, err)
	require.Zero(t, asked.Load(), "probes are not the handler's")
	mutated, err := maps.Create(t.Context(), configMap("mutated"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "yes", mutated.Data["mutated"])
	require.EqualValues(t, 1, asked.Load())

	require.NoError(t, stop())
	require.NoError(t, stop(), "it may be called again")
	plain, err := maps.Create(t.Context(), configMap("plain"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Empty(t, plain.Data)
	require.EqualValues(t, 1, asked.Load())
}

// TestRequestThatBeganBeforeAWebhookWasStopped: the API server asks all webhooks that were in force when a
// request began, one after the other.
func TestRequestThatBeganBeforeAWebhookWasStopped(t *testing.T) {
	maps := clients(t, shared.Config()).CoreV1().ConfigMaps(shared.Namespace(t))
	started, goOn := make(chan struct{}), make(chan struct{})
	stopFirst, err := shared.MutatingWebhook(t.Context(), "1-slow", configMapCreates(),
		admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
			if request.Name == "under-way" {
				close(started)
				<-goOn
			}
			return admission.Allowed("")
		}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stopFirst()) })
	stopSecond, err := shared.MutatingWebhook(t.Context(), "2-marker", configMapCreates(), marker(func() {}))
	require.NoError(t, err)

	created := make(chan error, 1)
	go func() {
		_, err := maps.Create(t.Context(), configMap("under-way"), metav1.CreateOptions{})
		created <- err
	}()
	<-started
	require.NoError(t, stopSecond())
	close(goOn)
	require.NoError(t, <-created)
}

func configMapCreates() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
}

// marker calls asked for each request, and marks ConfigMaps.
func marker(asked func()) admission.Handler {
	return admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		asked()
		return admission.Patched("marked", jsonpatch.NewOperation("add", "/data", map[string]string{"mutated": "yes"}))
	})
}

func TestMutatingWebhookOfATakenName(t *testing.T) {
	handler := admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return admission.Allowed("") })
	stop, err := shared.MutatingWebhook(t.Context(), "taken", nil, handler)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	_, err = shared.MutatingWebhook(t.Context(), "taken", nil, handler)
	require.ErrorContains(t, err, "already exists")
}
