package content_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure"
)

// TestTooLarge: the API server accepts the keys, and the database does not accept them together with their managed
// fields, which an apply adds. The error is that of a body that is too large.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := map[string]string{}
	for i := range 4_400 {
		data[fmt.Sprintf("%0190d", i)] = strings.Repeat("x", 20)
	}
	desired := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "large"}, Data: data}
	_, err := ensure.Object(t.Context(), f.ensurer, desired)
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.Equal(t, "RequestEntityTooLarge", ensure.Reason(err))
	t.Log(err)
}
