package children_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// TestRemovalRightAfterACreation deletes Deployments that kube-controller-manager has just begun
// to write to.
func TestRemovalRightAfterACreation(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		for clients, open := range workshops {
			t.Run(name+", "+clients, func(t *testing.T) {
				t.Parallel()
				w := open(t)
				for i := range 10 {
					deployment := w.deployment(1)
					deployment.Name = fmt.Sprintf("web-%d", i)
					w.mustBe(ensure.Created, deployment)
					require.Equal(t, ensure.Deleting, remove(w, deployment))
				}
			})
		}
	}
}

// TestRemovalOfWhatOthersWrite has somebody change the child before each of the first deletes.
func TestRemovalOfWhatOthersWrite(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		for clients, open := range workshops {
			t.Run(name+", "+clients, func(t *testing.T) {
				t.Parallel()
				w := open(t)
				w.mustBe(ensure.Created, w.config("busy", "made"))
				w.client = &overtaken{Client: w.client, human: w.human, left: 3}
				w.restart()
				require.Equal(t, ensure.Deleting, remove(w, w.config("busy", "")))
				require.False(t, w.exists(w.config("busy", "")))
			})
		}
	}
}

// removals delete a child and return the operation.
var removals = map[string]func(w *workshop, obj client.Object) ensure.Operation{
	"Absent": func(w *workshop, obj client.Object) ensure.Operation {
		res, err := ensure.Absent(w.ctx, w.ensurer, obj, ensure.ControlledBy(w.owner))
		require.NoError(w.t, err)
		return res.Operation
	},
	"Prune": func(w *workshop, obj client.Object) ensure.Operation {
		res, err := ensure.Set(w.ctx, w.ensurer, w.owner, nil, ensure.Prune(&appsv1.Deployment{}, &corev1.ConfigMap{}))
		require.NoError(w.t, err)
		for _, pruned := range res.Pruned {
			if pruned.Live.GetName() == obj.GetName() {
				return pruned.Operation
			}
		}
		return ""
	},
}

// An overtaken client lets a person act before its next deletes.
type overtaken struct {
	client.Client

	human client.Client
	left  int
}

func (o *overtaken) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if o.left--; o.left >= 0 {
		touch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, o.left))
		if err := o.human.Patch(ctx, obj.DeepCopyObject().(client.Object), touch); err != nil {
			return err
		}
	}
	return o.Client.Delete(ctx, obj, opts...)
}
