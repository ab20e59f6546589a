package cookbook_test

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// handOver makes another shop the controller of a Deployment, in one request. The Deployment is a copy that was read.
func handOver(ctx context.Context, c client.Client, deployment *appsv1.Deployment, from, to *Shop) error {
	before := deployment.DeepCopy()
	deployment.OwnerReferences = slices.DeleteFunc(deployment.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return ref.UID == from.UID
	})
	if err := controllerutil.SetControllerReference(to, deployment, c.Scheme()); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return c.Patch(ctx, deployment, patch, client.FieldOwner("shop-operator"))
}
