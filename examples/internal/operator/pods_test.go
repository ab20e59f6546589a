package operator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/examples/internal/operator"
)

func TestSlimPod(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop", Labels: map[string]string{"app": "shop"}, Annotations: map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec:   corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{{Name: "data"}}, Containers: []corev1.Container{{Name: "web"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}
	got, err := operator.SlimPod(pod)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"app": "shop"}},
		Spec:       corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
	}, got))

	other, err := operator.SlimPod(&appsv1.StatefulSet{})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(&appsv1.StatefulSet{}, other))
}

func TestReadyReplicas(t *testing.T) {
	live := &appsv1.Deployment{Status: appsv1.DeploymentStatus{ReadyReplicas: 3}}
	require.Equal(t, int32(1), *operator.ReadyReplicas(live), "the default is one replica")
	live.Spec.Replicas = new(int32(5))
	require.Equal(t, int32(3), *operator.ReadyReplicas(live))
	live.Spec.Replicas = new(int32(2))
	require.Equal(t, int32(2), *operator.ReadyReplicas(live), "the third is surplus")
}
