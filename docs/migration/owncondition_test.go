package migration_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Before: an update of the status in each pass.
func updateStatus(ctx context.Context, c client.Client, shop *Shop, deployment *appsv1.Deployment) error {
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Waiting", Message: "pods are not ready"}
	if deployment.Status.ReadyReplicas == shop.Spec.Replicas {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, "Ready", "all pods are ready"
	}
	meta.SetStatusCondition(&shop.Status.Conditions, condition)
	return c.Status().Update(ctx, shop)
}
