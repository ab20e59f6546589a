package operator_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/trueup-go/trueup/examples/internal/operator"
)

func TestWarn(t *testing.T) {
	for name, test := range map[string]struct {
		problem string
		bytes   int
	}{
		"short":                      {"oops", 12},
		"long":                       {strings.Repeat("x", 2000), 1024},
		"long, not cut in character": {strings.Repeat("é", 2000), 1024},
		"long, one byte further":     {"x" + strings.Repeat("é", 2000), 1023},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(1)
			operator.Warn(recorder, &corev1.ConfigMap{}, operator.ReasonInvalidTemplate, "a.yaml: "+test.problem)
			note, ok := strings.CutPrefix(<-recorder.Events, "Warning InvalidTemplate ")
			require.True(t, ok)
			require.Len(t, note, test.bytes)
			require.Equal(t, note, strings.ToValidUTF8(note, ""))
		})
	}
}

func TestIsNews(t *testing.T) {
	conditions := []metav1.Condition{{Type: "Ready", Message: "oops"}}
	require.False(t, operator.IsNews(conditions, "Ready", "oops"))
	require.True(t, operator.IsNews(conditions, "Ready", "other"))
	require.True(t, operator.IsNews(conditions, "Other", "oops"))
}
