package cookbook_test

import (
	"context"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// ensureAutoscaled ensures a Deployment whose number of pods an autoscaler decides.
func ensureAutoscaled(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Results, error) {
	deployment := deploymentFor(shop) // without spec.replicas
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: shop.Name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: shop.Name},
			MinReplicas:    new(int32(2)),
			MaxReplicas:    10,
		},
	}
	return ensure.Set(ctx, e, shop, []client.Object{deployment, autoscaler},
		ensure.OnlyFor(deployment, ensure.Release("spec.replicas"))) // an earlier version of the operator specified replicas
}
