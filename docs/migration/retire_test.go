package migration_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/trueup-go/trueup/ensure"
)

// ensureRetired removes the container that the older version called "web", and that desired calls "shop".
func ensureRetired(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Result[*appsv1.Deployment], error) {
	return ensure.Object(ctx, e, deploymentFor(shop), ensure.ControlledBy(shop),
		ensure.MigrateFrom("manager"), ensure.Retire("spec.template.spec.containers[name=web]"))
}
