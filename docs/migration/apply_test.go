package migration_test

import (
	"context"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Before: an apply in each pass.
func applyDeployment(ctx context.Context, c client.Client, shop *Shop) error {
	owner := metav1ac.OwnerReference().WithAPIVersion("shop.example.com/v1").WithKind("Shop").
		WithName(shop.Name).WithUID(shop.UID).WithController(true).WithBlockOwnerDeletion(true)
	deployment := appsv1ac.Deployment(shop.Name, shop.Namespace).WithOwnerReferences(owner).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(shop.Spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labelsOf(shop))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labelsOf(shop)).
				WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("shop").WithImage(shop.Spec.Image)))))
	return c.Apply(ctx, deployment, client.FieldOwner("shop-controller"), client.ForceOwnership)
}
