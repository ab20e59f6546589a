package controller //nolint:testpackage // tests unexported functions

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAppOf(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "dp-shop-1", Labels: map[string]string{"app": "shop"}}}
	require.Empty(t, appOf(t.Context(), pod))
	pod.Labels[appLabel] = "shop"
	want := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "mall", Name: "shop"}}
	require.Equal(t, []reconcile.Request{want}, appOf(t.Context(), pod))
}
