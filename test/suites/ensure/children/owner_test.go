package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// TestPruneBehindItsOwner: the operator prunes for an outdated copy of the owner, as after a
// failover. A child that the outdated owner does not want may be one that the live owner wants.
func TestPruneBehindItsOwner(t *testing.T) {
	t.Parallel()
	for kind, owner := range map[string]func(*fixture) client.Object{
		"with a generation": func(f *fixture) client.Object { return f.idleDeployment() },
		"without one":       func(f *fixture) client.Object { return f.config("root", "made") },
		"unstructured": func(f *fixture) client.Object {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": f.namespace, "name": "root"},
			}}
		},
	} {
		for name, overtake := range map[string]func(*fixture, client.Object){
			"changed": func(f *fixture, owner client.Object) {
				patch := `{"spec":{"revisionHistoryLimit":3},"data":{"key":"changed"}}`
				require.NoError(f.t, f.admin.Patch(f.ctx, owner, client.RawPatch("application/merge-patch+json", []byte(patch))))
			},
			"going": func(f *fixture, owner client.Object) {
				f.hold(owner)
				require.NoError(f.t, f.admin.Delete(f.ctx, owner))
			},
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				testPruneBehind(f, owner(f), overtake)
			})
		}
	}
}

func testPruneBehind(f *fixture, owner client.Object, overtake func(*fixture, client.Object)) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Create(f.ctx, owner))
	owner = f.settled(owner, func(live client.Object) bool {
		deployment, ok := live.(*appsv1.Deployment)
		return !ok || deployment.Status.ObservedGeneration == deployment.Generation
	})
	_, err := ensure.Set(f.ctx, f.ensurer, owner, f.configs("kept", "dropped"))
	require.NoError(f.t, err)
	overtake(f, owner.DeepCopyObject().(client.Object))

	mark := shared.Mark()
	results, err := ensure.Set(f.ctx, f.ensurer, owner, nil, ensure.Prune(&corev1.ConfigMap{}))
	require.Equal(f.t, "Conflict", ensure.Reason(err), "%v", err)
	require.Empty(f.t, results.Pruned)
	for request := range f.requestCounts(mark) {
		require.NotContains(f.t, request, "delete")
	}
}

// idleDeployment has no pods.
func (f *fixture) idleDeployment() *appsv1.Deployment {
	deployment := f.deployment(0)
	deployment.Name = "root"
	return deployment
}

// TestPruneForAnOwnerWithOtherStatus: the status changes often and does not affect which children
// the owner wants.
func TestPruneForAnOwnerWithOtherStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.idleDeployment()
	require.NoError(t, f.admin.Create(f.ctx, owner))
	_, err := ensure.Set(f.ctx, f.ensurer, owner, f.configs("kept", "dropped"))
	require.NoError(t, err)
	status := owner.DeepCopy()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"collisionCount":1}}`))
	require.NoError(t, f.admin.Status().Patch(f.ctx, status, patch))
	require.NotEqual(t, owner.ResourceVersion, status.ResourceVersion)

	results, err := ensure.Set(f.ctx, f.ensurer, owner, f.configs("kept"), ensure.Prune(&corev1.ConfigMap{}))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]string{"Deleting dropped"}, pruned(results)))
}

// TestNothingIsMadeAgainForAnOwnerThatIsGone: the operator sees that a child is gone before it sees why: the
// garbage collector deleted the child after its owner.
func TestNothingIsMadeAgainForAnOwnerThatIsGone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		remove func(*fixture)
		says   string
	}{
		"gone": {
			func(f *fixture) { require.NoError(f.t, f.admin.Delete(f.ctx, f.owner)) },
			"is gone",
		},
		"being deleted": {
			func(f *fixture) {
				f.hold(f.owner)
				require.NoError(f.t, f.admin.Delete(f.ctx, f.owner, client.PropagationPolicy(metav1.DeletePropagationForeground)))
			},
			"is being deleted",
		},
		"replaced": {
			func(f *fixture) {
				require.NoError(f.t, f.admin.Delete(f.ctx, f.owner))
				f.newOwner("owner")
			},
			"was replaced",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.owner = f.owner.DeepCopy() // as the operator's cache has it
			f.mustEnsure(ensure.Created, f.config("settings", "value"))
			test.remove(f)
			f.await("the garbage collector", func() bool { return !f.exists(f.config("settings", "value")) })

			mark := shared.Mark()
			_, err := f.ensure(f.config("settings", "value"))
			require.ErrorIs(t, err, ensure.ErrOwnerTerminating)
			require.ErrorContains(t, err, test.says)
			require.Equal(t, map[string]int{"get configmaps": 3}, f.requestCounts(mark), "two of the child, which no cache has shown yet, and one of the owner")
		})
	}
}

// TestOrphansStayOrphans: the operator sees that a child has lost its owner before it sees why: the owner was deleted, and its
// children are to stay. A child that belonged to the owner again would be deleted with it.
func TestOrphansStayOrphans(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"in one process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.owner = f.owner.DeepCopy() // as the operator's cache has it
			f.mustEnsure(ensure.Created, f.config("settings", "value"))
			current := f.owner.DeepCopy()
			f.hold(current)
			require.NoError(t, f.admin.Delete(f.ctx, current, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
			isOrphan := func() bool { return len(f.find(f.config("settings", "value")).GetOwnerReferences()) == 0 }
			f.await("the garbage collector", isOrphan)
			if restart {
				f.restart()
			}

			mark := shared.Mark()
			_, err := f.ensure(f.config("settings", "value"))
			require.ErrorIs(t, err, ensure.ErrOwnerTerminating)
			require.ErrorContains(t, err, "is being deleted")
			require.Equal(t, map[string]int{"get configmaps": 2}, f.requestCounts(mark), "the child and the owner")
			require.True(t, isOrphan())
		})
	}
}

// TestNothingIsAdoptedForAnOwnerThatIsGone: the object of somebody else would be deleted with the owner.
func TestNothingIsAdoptedForAnOwnerThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner = f.owner.DeepCopy() // as the operator's cache has it
	theirs := f.config("settings", "theirs")
	require.NoError(t, f.admin.Create(f.ctx, theirs))
	require.NoError(t, f.admin.Delete(f.ctx, f.owner.DeepCopy()))
	_, err := f.ensure(f.config("settings", "value"), ensure.Adopt())
	require.ErrorIs(t, err, ensure.ErrOwnerTerminating)
	require.ErrorContains(t, err, "is gone")
	require.Empty(t, f.find(theirs).GetOwnerReferences())
}
