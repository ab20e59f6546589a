package operator

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status/readiness"
)

// PruneOnceReady returns ensure.Prune of kinds once deployment is ready in the cache, and no option
// before: children with former names serve until then. The status of the Deployment wakes the
// reconciler again.
func PruneOnceReady(ctx context.Context, c client.Reader, deployment *appsv1.Deployment, kinds ...client.Object) []ensure.Option {
	var live appsv1.Deployment
	err := c.Get(ctx, client.ObjectKeyFromObject(deployment), &live, client.DisableReadYourWritesConsistency)
	if err != nil || readiness.Of(&live).State != readiness.Ready {
		return nil
	}
	return []ensure.Option{ensure.Prune(kinds...)}
}
