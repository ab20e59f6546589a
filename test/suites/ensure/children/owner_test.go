package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// TestPruneBehindItsOwner: the operator prunes for an outdated copy of the owner, as after a
// failover. A child that the outdated owner does not want may be one that the live owner wants.
func TestPruneBehindItsOwner(t *testing.T) {
	t.Parallel()
	for kind, owner := range map[string]func(*workshop) client.Object{
		"with a generation": func(w *workshop) client.Object { return w.idleDeployment() },
		"without one":       func(w *workshop) client.Object { return w.config("root", "made") },
		"unstructured": func(w *workshop) client.Object {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": w.namespace, "name": "root"},
			}}
		},
	} {
		for name, overtake := range map[string]func(*workshop, client.Object){
			"changed": func(w *workshop, owner client.Object) {
				patch := `{"spec":{"revisionHistoryLimit":3},"data":{"key":"changed"}}`
				require.NoError(w.t, w.human.Patch(w.ctx, owner, client.RawPatch("application/merge-patch+json", []byte(patch))))
			},
			"going": func(w *workshop, owner client.Object) {
				w.hold(owner)
				require.NoError(w.t, w.human.Delete(w.ctx, owner))
			},
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorkshop(t)
				testPruneBehind(w, owner(w), overtake)
			})
		}
	}
}

func testPruneBehind(w *workshop, owner client.Object, overtake func(*workshop, client.Object)) {
	w.t.Helper()
	require.NoError(w.t, w.human.Create(w.ctx, owner))
	owner = w.settled(owner, func(live client.Object) bool {
		deployment, ok := live.(*appsv1.Deployment)
		return !ok || deployment.Status.ObservedGeneration == deployment.Generation
	})
	_, err := ensure.Set(w.ctx, w.ensurer, owner, w.configs("kept", "dropped"))
	require.NoError(w.t, err)
	overtake(w, owner.DeepCopyObject().(client.Object))

	mark := shared.Mark()
	results, err := ensure.Set(w.ctx, w.ensurer, owner, nil, ensure.Prune(&corev1.ConfigMap{}))
	require.Equal(w.t, "Conflict", ensure.Reason(err), "%v", err)
	require.Empty(w.t, results.Pruned)
	for request := range w.counts(mark) {
		require.NotContains(w.t, request, "delete")
	}
}

// idleDeployment has no pods.
func (w *workshop) idleDeployment() *appsv1.Deployment {
	deployment := w.deployment(0)
	deployment.Name = "root"
	return deployment
}

// TestPruneForAnOwnerWithOtherStatus: the status changes often and does not affect which children
// the owner wants.
func TestPruneForAnOwnerWithOtherStatus(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	owner := w.idleDeployment()
	require.NoError(t, w.human.Create(w.ctx, owner))
	_, err := ensure.Set(w.ctx, w.ensurer, owner, w.configs("kept", "dropped"))
	require.NoError(t, err)
	status := owner.DeepCopy()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"collisionCount":1}}`))
	require.NoError(t, w.human.Status().Patch(w.ctx, status, patch))
	require.NotEqual(t, owner.ResourceVersion, status.ResourceVersion)

	results, err := ensure.Set(w.ctx, w.ensurer, owner, w.configs("kept"), ensure.Prune(&corev1.ConfigMap{}))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]string{"Deleting dropped"}, pruned(results)))
}
