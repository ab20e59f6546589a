package migration_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure"
)

// After: a plain object with the same fields.
func deploymentFor(shop *Shop) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: shop.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &shop.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labelsOf(shop)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(shop)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "shop", Image: shop.Spec.Image}}},
			},
		},
	}
}

func ensureDeployment(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Result[*appsv1.Deployment], error) {
	return ensure.Object(ctx, e, deploymentFor(shop), ensure.ControlledBy(shop), ensure.MigrateFrom("manager"))
}
