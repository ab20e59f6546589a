package controller //nolint:testpackage // readiness is the package's own affair, and has more cases than a cluster shows

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure"
)

func TestReadiness(t *testing.T) {
	available := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	but := func(change func(*appsv1.DeploymentStatus)) appsv1.DeploymentStatus {
		status := *available.DeepCopy()
		change(&status)
		return status
	}
	for _, test := range []struct {
		name   string
		wanted int32
		status appsv1.DeploymentStatus
		stale  bool
		ready  bool
		reason string
	}{
		{name: "all available", wanted: 2, status: available, ready: true, reason: "Available"},
		{name: "a copy from before our write", wanted: 2, status: available, stale: true, reason: "Progressing"},
		{
			name: "the controller has not seen this generation", wanted: 2, reason: "Progressing",
			status: but(func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 1 }),
		},
		{
			name: "a pod of the old template", wanted: 2, reason: "Progressing",
			status: but(func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas = 1 }),
		},
		{
			name: "a pod that is not available", wanted: 2, reason: "Progressing",
			status: but(func(s *appsv1.DeploymentStatus) { s.AvailableReplicas = 1 }),
		},
		{
			name: "an old pod beside the new ones, and one of the three not available", wanted: 2, reason: "Progressing",
			status: but(func(s *appsv1.DeploymentStatus) { s.Replicas = 3 }),
		},
		{name: "none wanted and none observed yet", wanted: 0, reason: "Progressing"},
		{
			name: "none wanted and none there", wanted: 0, ready: true, reason: "Available",
			status: appsv1.DeploymentStatus{ObservedGeneration: 2},
		},
		{
			name: "none wanted and some there", wanted: 0, reason: "Progressing",
			status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1},
		},
		{
			name: "stuck", wanted: 2, reason: "ProgressDeadlineExceeded",
			status: but(func(s *appsv1.DeploymentStatus) {
				s.UpdatedReplicas = 1
				s.Conditions = []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
				}}
			}),
		},
		{
			name: "pods cannot be created", wanted: 2, reason: "FailedCreate",
			status: but(func(s *appsv1.DeploymentStatus) {
				s.UpdatedReplicas = 0
				s.Conditions = []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
				}}
			}),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			deployment := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 2},
				Spec:       appsv1.DeploymentSpec{Replicas: new(test.wanted)},
				Status:     test.status,
			}
			got := readiness(ensure.Result[*appsv1.Deployment]{Live: deployment, Stale: test.stale})
			require.Equal(t, test.ready, got.Status == metav1.ConditionTrue)
			require.Equal(t, test.reason, got.Reason)
			require.NotEmpty(t, got.Message)
		})
	}
}
