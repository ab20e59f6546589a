package migration_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Before: a mutate function that checks and changes the live object.
func createOrUpdate(ctx context.Context, c client.Client, shop *Shop) (controllerutil.OperationResult, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.Name}}
	return controllerutil.CreateOrUpdate(ctx, c, deployment, func() error {
		deployment.Spec.Replicas = &shop.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labelsOf(shop)}
		deployment.Spec.Template.Labels = labelsOf(shop)
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = make([]corev1.Container, 1)
		}
		container := &deployment.Spec.Template.Spec.Containers[0]
		container.Name, container.Image = "shop", shop.Spec.Image
		return controllerutil.SetControllerReference(shop, deployment, c.Scheme())
	})
}
