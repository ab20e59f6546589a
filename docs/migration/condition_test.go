package migration_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status"
)

// A patch if the condition changed. deployment and err are the results of ensure.Object.
func patchStatus(ctx context.Context, c client.Client, shop *Shop, deployment ensure.Result[*appsv1.Deployment], err error) error {
	set := status.For(shop)
	return status.Patch(ctx, c, shop, func(shop *Shop) {
		set.Child(&shop.Status.Conditions, "Ready", deployment.Readiness(err))
	})
}
