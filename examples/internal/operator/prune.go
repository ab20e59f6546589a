package operator

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status/readiness"
)

// PruneOnceReady returns the option ensure.Prune for kinds if the cache shows that deployment is ready,
// and no option otherwise. Until then, children with former names continue to serve. A change of the
// Deployment's status triggers the next reconcile.
func PruneOnceReady(ctx context.Context, c client.Reader, deployment *appsv1.Deployment, kinds ...client.Object) []ensure.Option {
	var live appsv1.Deployment
	err := c.Get(ctx, client.ObjectKeyFromObject(deployment), &live, client.DisableReadYourWritesConsistency)
	if err != nil || readiness.Of(&live).State != readiness.Ready {
		return nil
	}
	return []ensure.Option{ensure.Prune(kinds...)}
}
