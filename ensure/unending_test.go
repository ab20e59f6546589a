package ensure_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// countContests runs round so often at once and counts how often it was refused as contested.
func countContests(t *testing.T, rounds int, round func() error) int {
	t.Helper()
	contests := 0
	for range rounds {
		err := round()
		if errors.Is(err, ensure.ErrContested) {
			contests++
			continue
		}
		require.NoError(t, err)
	}
	return contests
}

// The old operator keeps running and keeps writing what the new one removes.
func TestRetireBesideARunningOperatorIsAContest(t *testing.T) {
	a := newArena(t, faithful)
	a.createOld(t, legacyConfigMap())
	contests := countContests(t, 10, func() error {
		_, err := ensure.Object(t.Context(), a.e, configMap(), ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager), ensure.Retire("data[dropped]"))
		if err == nil {
			a.addKey(t, oldManager, "dropped")
		}
		return err
	})
	require.Equal(t, 5, contests, "the first takes over, the next four put it back")
}

func TestMigrateFromLeavesTheOwnersOfWhatIsAdopted(t *testing.T) {
	s := newServer()
	s.createOld(t, with(legacyConfigMap(), func(o *corev1.ConfigMap) { o.OwnerReferences[0].UID = "uid-of-another" }))
	e := newEnsurer(s)
	result := mustEnsure(t, e, configMap(), ensure.Adopt(), ensure.MigrateFrom(oldManager))
	require.Len(t, result.Live.OwnerReferences, 1)
	s.take()
	mustEnsure(t, e, configMap(), ensure.Adopt(), ensure.MigrateFrom(oldManager))
	require.Empty(t, writes(s.verbs()), "what is left to it is no reason to try again")
}

// recreates is a pass to which the server says that spec cannot be changed.
func (a *arena) recreates(e *ensure.Ensurer, desired client.Object) error {
	a.immutableNow()
	defer func() { a.answers = nil }()
	_, err := ensure.Object(a.t.Context(), e, desired,
		ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift))
	return err
}

func TestTwoThatRecreateAreAContest(t *testing.T) {
	a := newArena(t, faithful)
	other := ensure.New(a.cached(faithful), a, fieldOwner, withClock(a.clock))
	mustEnsure(t, a.e, service())
	contests := countContests(t, 20, func() error {
		return errors.Join(a.recreates(other, affine()), a.recreates(a.e, service()))
	})
	require.Positive(t, contests)
	require.LessOrEqual(t, len(removals(a.take())), 12)
}

// An hour of a rival that is there every ten seconds: tries become rare.
func TestRecreationsOfAContestedChildBecomeRare(t *testing.T) {
	a := newArena(t, faithful)
	mustEnsure(t, a.e, configMap())
	deletions := 0
	for range 360 {
		a.paint()
		if err := a.recreates(a.e, configMap()); err != nil {
			require.ErrorIs(t, err, ensure.ErrContested)
		}
		deletions += len(removals(a.take()))
		a.wait(10 * time.Second)
	}
	require.Positive(t, deletions)
	require.Less(t, deletions, 25)
}

func TestADryRunEndsNoContest(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	a.paint()
	_, err := ensure.Absent(t.Context(), a.e, configMap(), ensure.DryRun())
	require.NoError(t, err)
	_, contested := a.pass(configMap())
	require.NotNil(t, contested)
}

// What a webhook makes of a new object it would make of the next, too.
func TestRecreateIsNotForWhatAWebhookMade(t *testing.T) {
	s := newServer()
	s.admit = func(body map[string]any) {
		body["spec"].(map[string]any)["sessionAffinity"] = "None" //nolint:forcetypeassert // a Service's is one
	}
	created(t, s, affine())
	s.immutableNow()
	_, err := ensure.Object(t.Context(), newEnsurer(s), affine(), ensure.Recreate(metav1.DeletePropagationBackground))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Empty(t, removals(s.take()))
}

// Left to the autoscaler, taken back, and left again while the cache shows the first state.
func TestReleaseOnAStaleCopyKeepsTheValue(t *testing.T) {
	s, show := newServer(), view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner)
	left := with(deployment(), func(d *appsv1.Deployment) { d.Spec.Replicas = nil })
	mustEnsure(t, e, left, ensure.Release("spec.replicas"))
	old := live(t, s, left)
	mustEnsure(t, e, with(deployment(), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(20)) }))
	show = func(client.Object) client.Object { return old }
	result := mustEnsure(t, e, left, ensure.Release("spec.replicas"))
	require.Equal(t, new(int32(20)), result.Live.Spec.Replicas)
}
