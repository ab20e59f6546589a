package migration_test

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// restart replaces the pods of a Deployment, as kubectl rollout restart does. c writes under a field owner of its own:
// client.WithFieldOwner(mgr.GetClient(), "shop-operator-restarts").
func restart(ctx context.Context, c client.Client, deployment *appsv1.Deployment, now time.Time) error {
	patch := client.MergeFrom(deployment.DeepCopy())
	if deployment.Spec.Template.Annotations == nil {
		deployment.Spec.Template.Annotations = map[string]string{}
	}
	deployment.Spec.Template.Annotations["shop.example.com/restarted-at"] = now.Format(time.RFC3339)
	return c.Patch(ctx, deployment, patch)
}
