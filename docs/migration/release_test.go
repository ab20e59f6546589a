package migration_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/trueup-go/trueup/ensure"
)

func ensureWithoutReplicas(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Result[*appsv1.Deployment], error) {
	desired := deploymentFor(shop)
	desired.Spec.Replicas = nil
	return ensure.Object(ctx, e, desired, ensure.ControlledBy(shop),
		ensure.MigrateFrom("manager"), ensure.Release("spec.replicas"))
}
