package migration_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// An earlier release of trueup left released fields to nobody, and applied over an entry of released fields. Objects that it
// wrote go on without a needless write, also where it runs in turn with this one.
func TestAnEarlierRelease(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Client(t, shared, releaser)
	pass := func(d *appsv1.Deployment, opts ...ensure.Option) ensure.Result[*appsv1.Deployment] {
		return mustEnsure(t, ensure.New(c, c, releaser), d, opts...) // of a process that has just started
	}
	requireNoWrite := func(d *appsv1.Deployment, opts ...ensure.Option) {
		t.Helper()
		begin := shared.Mark()
		require.Equal(t, ensure.Unchanged, pass(d, opts...).Operation)
		require.Empty(t, writesOf(t, begin, releaser))
	}
	applied := pass(withReplicas(idle(namespace), 5)).Live
	awaitStatus(t, c, idle(namespace), 5)
	release := ensure.Release("spec.replicas")
	pass(idle(namespace), release)
	update(t, c, idle(namespace), func(live *appsv1.Deployment) {
		live.SetManagedFields(slices.DeleteFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == releaser+"-released"
		}))
	})
	require.NotContains(t, managersOf(liveOf(t, c, idle(namespace))), releaser+"-released")
	requireNoWrite(idle(namespace), release)
	red := idle(namespace)
	red.Labels = map[string]string{"color": "red"}
	require.Equal(t, ensure.DesiredChanged, pass(red, release).Cause)
	require.EqualValues(t, 5, replicas(t, c, red), "nobody's value stays")
	requireNoWrite(red, release)

	pass(withReplicas(idle(namespace), 5))
	pass(idle(namespace), release)
	require.Contains(t, managersOf(liveOf(t, c, idle(namespace))), releaser+"-released")
	applyAs(t, c, releaser, applied) // by the earlier release, which is back
	counted := ensuretest.Count(c, c)
	mustEnsure(t, ensure.New(counted, c, releaser), withReplicas(idle(namespace), 5))
	// The API server refuses a move of fields if the Deployment's controller writes to the status meanwhile; then it is sent again.
	accepted := slices.DeleteFunc(counted.Requests(), func(r ensuretest.Request) bool { return !r.IsWrite() || r.Err != nil })
	require.LessOrEqual(t, len(accepted), 2, "the replicas become ours alone")
	require.NotContains(t, managersOf(liveOf(t, c, idle(namespace))), releaser+"-released")
	requireNoWrite(withReplicas(idle(namespace), 5))
	pass(idle(namespace))
	require.EqualValues(t, 1, replicas(t, c, idle(namespace)), "dropped, and back to the default")
}

// applyAs applies what an object had when fieldOwner had applied it.
func applyAs(t *testing.T, c client.Client, fieldOwner string, applied *appsv1.Deployment) {
	t.Helper()
	desired := withReplicas(idle(applied.Namespace), *applied.Spec.Replicas)
	desired.Annotations = maps.Clone(applied.Annotations)
	delete(desired.Annotations, "deployment.kubernetes.io/revision")
	desired.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	text, err := json.Marshal(desired)
	require.NoError(t, err)
	content := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal(text, content))
	delete(content.Object, "status")
	require.NoError(t, c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(content), client.FieldOwner(fieldOwner), client.ForceOwnership))
}
