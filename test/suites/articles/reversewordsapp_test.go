package articles_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func reverseWordsApp() articleTest {
	return articleTest{name: "reversewordsapp", happens: map[string]event{
		"a load balancer gets an address": balanceLoad,
		"the operator's log says that it watches the namespace operators-test alone": func(t *testing.T, r *reader) {
			t.Helper()
			require.Contains(t, r.process.Log(), `"namespace":"operators-test"`)
		},
	}}
}

// balanceLoad assigns addresses as a cloud's load balancer does.
func balanceLoad(t *testing.T, r *reader) {
	t.Helper()
	const status = `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.7"}]}}}`
	patched, err := r.clients.CoreV1().Services("operators-test").Patch(t.Context(), "service-example-reversewordsapp",
		types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.Equal(t, corev1.ServiceTypeLoadBalancer, patched.Spec.Type)
}
