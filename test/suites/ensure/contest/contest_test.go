package contest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const (
	fieldOwner = "shop-operator"
	rivalName  = "rival-autoscaler"
)

func settings(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"},
		Data:       map[string]string{"color": "blue", "shape": "round"},
	}
}

func web(namespace string, replicas *int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web:1"}}},
			},
		},
	}
}

// merge has a rival patch live.
func merge(ctx context.Context, c client.Client, live client.Object, patch string) error {
	return c.Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(rivalName))
}

// setRed wants settings red.
func setRed(ctx context.Context, c client.Client, live client.Object) (bool, error) {
	settings, ok := live.(*corev1.ConfigMap)
	if !ok || settings.Name != "settings" || settings.Data["color"] == "red" {
		return false, nil
	}
	return true, merge(ctx, c, live, `{"data":{"color":"red"}}`)
}

// scaleDown wants one replica.
func scaleDown(ctx context.Context, c client.Client, live client.Object) (bool, error) {
	if deployment, ok := live.(*appsv1.Deployment); !ok || *deployment.Spec.Replicas == 1 {
		return false, nil
	}
	return true, merge(ctx, c, live, `{"spec":{"replicas":1}}`)
}

// remove wants no settings.
func remove(ctx context.Context, c client.Client, live client.Object) (bool, error) {
	if live.GetName() != "settings" {
		return false, nil
	}
	return true, c.Delete(ctx, live)
}

// A table prints a contest for people.
type table struct{ t *testing.T }

func newTable(t *testing.T, title string) table {
	t.Helper()
	t.Logf("%s", title)
	t.Logf("%-44s %8s %10s %12s", "", "requests", "seconds", "requests/s")
	return table{t}
}

func (table table) row(phase string, requests int, took time.Duration) {
	table.t.Helper()
	table.t.Logf("%-44s %8d %10.2f %12.3f", phase, requests, took.Seconds(), float64(requests)/took.Seconds())
}

// TestContestWithAController: another controller reverts each of our writes at once.
func TestContestWithAController(t *testing.T) {
	cases := map[string]struct {
		desired func(namespace string) client.Object
		list    client.ObjectList
		undo    func(context.Context, client.Client, client.Object) (bool, error)
		path    string
	}{
		"a key of a ConfigMap": {
			func(namespace string) client.Object { return settings(namespace) }, &corev1.ConfigMapList{}, setRed, "data[color]",
		},
		"replicas of a Deployment": {
			func(namespace string) client.Object { return web(namespace, new(int32(3))) }, &appsv1.DeploymentList{}, scaleDown, "spec.replicas",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := shared.Namespace(t)
			figures := newTable(t, "requests of an operator; another controller reverts "+name+" at once")
			fightWithoutContestDetection(t, figures, shared.Namespace(t), tc.desired, tc.list, tc.undo)

			o := startOperator(t, "contest-operator-"+namespace, tc.desired(namespace))
			o.awaitSuccess()
			since, begun := shared.Mark(), time.Now()
			r := startRival(t, rivalName, tc.list, namespace, tc.undo)
			o.awaitContest(10 * time.Second)
			contested := o.contest()
			figures.row("until it is a contest", o.requests(since), time.Since(begun))
			require.Equal(t, 5, o.requests(since), "five undoings, each put right")
			require.Equal(t, rivalName, contested.Rival)
			require.Equal(t, []string{tc.path}, contested.Paths)
			t.Logf("what it says: %v", contested)

			since, begun = shared.Mark(), time.Now()
			o.awaitPasses(500)
			figures.row("500 passes while it is held", o.requests(since), time.Since(begun))
			require.Zero(t, o.requests(since))

			since = shared.Mark()
			hold, took := backOff(o, contested)
			figures.row("the next tries, by the operator's clock", o.requests(since), took)
			require.Equal(t, 5, o.requests(since))

			r.stop()
			endsWhenTheRivalStops(o, hold)
		})
	}
}

// fightWithoutContestDetection shows the contest without a back-off.
func fightWithoutContestDetection(
	t *testing.T, figures table, namespace string, desired func(string) client.Object, list client.ObjectList,
	undo func(context.Context, client.Client, client.Object) (bool, error),
) {
	t.Helper()
	name := "forgetful-operator-" + namespace
	o := startOperator(t, name, desired(namespace))
	c := program.Client(t, shared, name)
	o.forget(func() *ensure.Ensurer { return ensure.New(c, c, fieldOwner) })
	since, begun := shared.Mark(), time.Now()
	r := startRival(t, rivalName, list, namespace, undo)
	// A rival whose cache is behind reverts a write twice.
	o.await(func() bool { return r.reverts.Load() >= 100 && o.writes(since) > 50 })
	writes, took := o.writes(since), time.Since(begun)
	r.stop()
	figures.row("writes of one that remembers nothing", writes, took)
}

// backOff follows the operator, after five tries that were each reverted at once, until the back-off
// has reached five minutes. It returns the last back-off and the sum of the earlier ones.
func backOff(o *operator, first *ensure.Error) (hold, took time.Duration) {
	o.t.Helper()
	for hold = first.After; hold < 5*time.Minute; hold = min(2*hold, 5*time.Minute) {
		o.awaitReverted(hold)
		require.Equal(o.t, first.Error(), o.String(), "conditions hold it")
		since := shared.Mark()
		o.advanceClock(hold - time.Second)
		took += hold
		o.await(func() bool { return o.writes(since) == 1 })
	}
	o.awaitReverted(hold)
	return hold, took
}

// endsWhenTheRivalStops: the last write has to stand, then all is well.
func endsWhenTheRivalStops(o *operator, hold time.Duration) {
	o.t.Helper()
	since := shared.Mark()
	o.advanceClock(hold - time.Second)
	o.awaitContest(2 * hold)
	require.Equal(o.t, 1, o.requests(since), "the last try")
	since = shared.Mark()
	o.advanceClock(2 * hold)
	o.awaitSuccess()
	o.awaitPasses(10)
	_, _, last := o.outcome()
	require.NoError(o.t, last)
	require.Zero(o.t, o.requests(since))
}

// TestContestOfTwoInstances: both name the other instance, and neither sends many requests.
func TestContestOfTwoInstances(t *testing.T) {
	namespace := shared.Namespace(t)
	red := settings(namespace)
	red.Data["color"] = "red"
	since, begun := shared.Mark(), time.Now()
	first := startOperator(t, "contest-first-"+namespace, settings(namespace))
	second := startOperator(t, "contest-second-"+namespace, red)
	require.Eventually(t, func() bool { return first.contest() != nil || second.contest() != nil }, limit, tick)
	figures := newTable(t, "requests of two instances of one operator that want different things")
	figures.row("until it is a contest", first.requests(since)+second.requests(since), time.Since(begun))

	held, begun := shared.Mark(), time.Now()
	first.awaitPasses(250)
	second.awaitPasses(250)
	figures.row("500 passes while it is held", first.writes(held)+second.writes(held), time.Since(begun))
	require.LessOrEqual(t, first.writes(held)+second.writes(held), 1, "the other may have had one to go")

	tries := shared.Mark()
	for range 6 { // each holds twice as long after each try
		for _, o := range []*operator{first, second} {
			o.advanceClock(10 * time.Second)
			o.awaitPasses(10)
		}
	}
	figures.row("the next minute, by their clocks", first.writes(tries)+second.writes(tries), time.Minute)
	require.LessOrEqual(t, first.writes(tries)+second.writes(tries), 12)
	for _, o := range []*operator{first, second} {
		contested := o.contest()
		require.NotNil(t, contested, o)
		require.Equal(t, "another instance of "+fieldOwner, contested.Rival)
		require.Equal(t, []string{"data[color]"}, contested.Paths)
	}
	t.Logf("what it says: %v", first)
}

// TestContestOverDeletion: a child that somebody deletes again and again.
func TestContestOverDeletion(t *testing.T) {
	namespace := shared.Namespace(t)
	o := startOperator(t, "contest-operator-"+namespace, settings(namespace))
	o.awaitSuccess()
	figures := newTable(t, "requests of an operator; somebody deletes its ConfigMap at once")
	since, begun := shared.Mark(), time.Now()
	r := startRival(t, rivalName, &corev1.ConfigMapList{}, namespace, remove)
	o.awaitContest(10 * time.Second)
	contested := o.contest()
	figures.row("until it is a contest", o.requests(since), time.Since(begun))
	require.Equal(t, 5, o.writes(since))
	require.Empty(t, contested.Paths)
	require.Empty(t, contested.Rival)
	t.Logf("what it says: %v", contested)

	since, begun = shared.Mark(), time.Now()
	o.awaitPasses(500)
	figures.row("500 passes while it is held", o.requests(since), time.Since(begun))
	require.Zero(t, o.requests(since))

	since = shared.Mark()
	hold, took := backOff(o, contested)
	figures.row("the next tries, by the operator's clock", o.requests(since), took)
	r.stop()
	since = shared.Mark()
	o.advanceClock(hold - time.Second)
	o.awaitContest(2 * hold)
	require.Equal(t, 1, o.writes(since))
	o.advanceClock(2 * hold)
	o.awaitSuccess()
}

// TestContestOverCreation: another part of the operator creates for the owner what Absent deletes.
func TestContestOverCreation(t *testing.T) {
	namespace := shared.Namespace(t)
	name := "removing-operator-" + namespace
	c, creator := program.Client(t, shared, name), program.Client(t, shared, "creator")
	owner := web(namespace, new(int32(0)))
	require.NoError(t, creator.Create(t.Context(), owner))
	e := ensure.New(c, c, fieldOwner)
	since := shared.Mark()
	var err error
	for deletions := 1; err == nil; deletions++ {
		require.LessOrEqual(t, deletions, 6)
		child := settings(namespace)
		require.NoError(t, controllerutil.SetControllerReference(owner, child, creator.Scheme()))
		require.NoError(t, creator.Create(t.Context(), child))
		_, err = ensure.Absent(t.Context(), e, settings(namespace), ensure.ControlledBy(owner))
	}
	require.ErrorIs(t, err, ensure.ErrContested)
	require.ErrorContains(t, err, "creates it again and again")
	t.Logf("what it says: %v", err)
	require.NoError(t, creator.Create(t.Context(), settings(namespace)))
	_, err = ensure.Absent(t.Context(), e, settings(namespace), ensure.ControlledBy(owner))
	require.NoError(t, err, "that one is somebody else's")
	writes, err := shared.Requests(since, cluster.ByUserAgent(name), cluster.Writes)
	require.NoError(t, err)
	require.Len(t, writes, 6)
}
