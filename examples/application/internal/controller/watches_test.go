package controller //nolint:testpackage // tests unexported functions

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestApplicationOf(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Labels: map[string]string{"app": "shop-microservice"}}}
	require.Empty(t, applicationOf(t.Context(), pod))
	pod.Labels[appLabel] = "shop"
	want := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "mall", Name: "shop"}}
	require.Equal(t, []reconcile.Request{want}, applicationOf(t.Context(), pod))
}
