package operator

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status/readiness"
)

// PruneOnceReady is ensure.Prune of kinds once deployment is ready, as the cache has it, and
// nothing before: what templates call otherwise now serves until then. Its status wakes the
// reconciler again.
func PruneOnceReady(ctx context.Context, c client.Reader, deployment *appsv1.Deployment, kinds ...client.Object) []ensure.Option {
	var live appsv1.Deployment
	err := c.Get(ctx, client.ObjectKeyFromObject(deployment), &live, client.DisableReadYourWritesConsistency)
	if err != nil || readiness.Of(&live).State != readiness.Ready {
		return nil
	}
	return []ensure.Option{ensure.Prune(kinds...)}
}
