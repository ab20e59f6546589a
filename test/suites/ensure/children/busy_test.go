package children_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/trueup-go/trueup/ensure"
)

// TestRemovalRightAfterACreation deletes Deployments that kube-controller-manager has just begun
// to write to.
func TestRemovalRightAfterACreation(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		sorts := maps.Clone(fixtures)
		sorts["cache that lags"] = newFixtureBehind
		for clients, open := range sorts {
			t.Run(name+", "+clients, func(t *testing.T) {
				t.Parallel()
				f := open(t)
				for i := range 10 {
					deployment := f.deployment(1)
					deployment.Name = fmt.Sprintf("web-%d", i)
					children := []client.Object{deployment}
					made, err := ensure.Set(f.ctx, f.ensurer, f.owner, children, ensure.Prune(&appsv1.Deployment{}))
					require.NoError(t, err)
					require.Equal(t, ensure.Created, made.Children[0].Operation)
					require.Equal(t, ensure.Deleting, remove(f, deployment))
				}
			})
		}
	}
}

// newFixtureBehind has an operator with a manager's client that does not wait until its cache shows its writes.
func newFixtureBehind(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOf(t, runtimecluster.Options{})
}

// TestRemovalOfWhatOthersWrite has somebody change the child before each of the first deletes.
func TestRemovalOfWhatOthersWrite(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		for clients, open := range fixtures {
			t.Run(name+", "+clients, func(t *testing.T) {
				t.Parallel()
				f := open(t)
				f.mustEnsure(ensure.Created, f.config("busy", "made"))
				f.awaitCached(f.config("busy", ""))
				f.client = &racingClient{Client: f.client, admin: f.admin, left: 3}
				f.restart()
				require.Equal(t, ensure.Deleting, remove(f, f.config("busy", "")))
				require.False(t, f.exists(f.config("busy", "")))
			})
		}
	}
}

// removals delete a child and return the operation.
var removals = map[string]func(f *fixture, obj client.Object) ensure.Operation{
	"Absent": func(f *fixture, obj client.Object) ensure.Operation {
		res, err := ensure.Absent(f.ctx, f.ensurer, obj, ensure.ControlledBy(f.owner))
		require.NoError(f.t, err)
		return res.Operation
	},
	"Prune": func(f *fixture, obj client.Object) ensure.Operation {
		res, err := ensure.Set(f.ctx, f.ensurer, f.owner, nil, ensure.Prune(&appsv1.Deployment{}, &corev1.ConfigMap{}))
		require.NoError(f.t, err)
		for _, pruned := range res.Pruned {
			if pruned.Live.GetName() == obj.GetName() {
				return pruned.Operation
			}
		}
		return ""
	},
}

// A racingClient has the admin patch the object right before its next deletes.
type racingClient struct {
	client.Client

	admin client.Client
	left  int
}

func (o *racingClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if o.left--; o.left >= 0 {
		touch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, o.left))
		if err := o.admin.Patch(ctx, obj.DeepCopyObject().(client.Object), touch); err != nil {
			return err
		}
	}
	return o.Client.Delete(ctx, obj, opts...)
}
