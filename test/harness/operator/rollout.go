package operator

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RolledOut returns nil once the Deployment has exactly its pods and will not change by itself. The
// Deployment's own status does not suffice: scaled up and down again at once, the Deployment
// reports success before the pods in between exist. RolledOut therefore checks the ReplicaSets,
// too.
func RolledOut(ctx context.Context, c client.Reader, key client.ObjectKey) error {
	var deployment appsv1.Deployment
	if err := c.Get(ctx, key, &deployment); err != nil {
		return err
	}
	wanted, status := *deployment.Spec.Replicas, deployment.Status
	if status.ObservedGeneration < deployment.Generation || status.Replicas != wanted ||
		status.UpdatedReplicas != wanted || status.AvailableReplicas != wanted {
		return fmt.Errorf("%d of %d pods are available", status.AvailableReplicas, wanted)
	}
	var sets appsv1.ReplicaSetList
	if err := c.List(ctx, &sets, client.InNamespace(key.Namespace),
		client.MatchingLabels(deployment.Spec.Selector.MatchLabels)); err != nil {
		return err
	}
	var total int32
	for _, set := range sets.Items {
		total += *set.Spec.Replicas
		if set.Status.ObservedGeneration < set.Generation || set.Status.Replicas != *set.Spec.Replicas {
			return fmt.Errorf("ReplicaSet %s has %d of %d pods", set.Name, set.Status.Replicas, *set.Spec.Replicas)
		}
	}
	if total != wanted {
		return fmt.Errorf("the ReplicaSets make %d of %d pods", total, wanted)
	}
	return nil
}
