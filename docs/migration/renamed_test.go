package migration_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/trueup-go/trueup/ensure"
)

// After: e is the Ensurer of "shop-operator".
func ensureRenamed(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Result[*appsv1.Deployment], error) {
	return ensure.Object(ctx, e, deploymentFor(shop), ensure.ControlledBy(shop), ensure.MigrateFrom("shop-controller"))
}
