package contest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const anotherCaller = "another caller in this process"

// colored is settings in another color.
func colored(namespace, color string) *corev1.ConfigMap {
	desired := settings(namespace)
	desired.Data["color"] = color
	return desired
}

// coloredUnstructured has no Go type.
func coloredUnstructured(namespace, color string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": namespace, "name": "settings"},
		"data":     map[string]any{"color": color},
	}}
}

// TestContestOfTwoLoops has two goroutines with one Ensurer write as fast as possible.
func TestContestOfTwoLoops(t *testing.T) {
	cases := map[string]func(namespace, color string) client.Object{
		"typed":        func(namespace, color string) client.Object { return colored(namespace, color) },
		"unstructured": func(namespace, color string) client.Object { return coloredUnstructured(namespace, color) },
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := shared.Namespace(t)
			operator := "looping-operator-" + namespace
			c := program.Cached(t, shared, operator)
			e := ensure.New(c.GetClient(), c.GetAPIReader(), fieldOwner)
			since := shared.Mark()
			var said [2]atomic.Pointer[ensure.Error]
			isOver := func() bool { return said[0].Load() != nil && said[1].Load() != nil }
			var passes atomic.Int64
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var loops sync.WaitGroup
			for i, color := range []string{"blue", "red"} {
				loops.Go(func() {
					for more := 500; more > 0 && ctx.Err() == nil; passes.Add(1) {
						if isOver() {
							more--
						}
						_, err := ensure.Object(ctx, e, build(namespace, color))
						if contested, ok := errors.AsType[*ensure.Error](err); ok && errors.Is(err, ensure.ErrContested) {
							said[i].Store(contested)
						}
					}
				})
			}
			loops.Wait()
			requests := len(program.Requests(t, shared, since, operator))
			t.Logf("%d requests of %d passes", requests, passes.Load())
			require.LessOrEqual(t, requests, 60)
			for i := range said {
				contested := said[i].Load()
				require.NotNil(t, contested)
				require.Equal(t, anotherCaller, contested.Rival, contested)
				require.Len(t, contested.Paths, 1)
				require.Contains(t, contested.Paths[0], "color")
			}
			t.Logf("what it says: %v", said[0].Load())
		})
	}
}

// A passFunc ensures the child of one controller.
type passFunc func(ctx context.Context, e *ensure.Ensurer, owner client.Object) error

// A sharedManager is a manager with controllers that share an owner and an Ensurer. Each is woken by the
// owner, by its children and at each tick: its clock stands still, so no back-off ends by itself.
type sharedManager struct {
	t           *testing.T
	name        string
	clock       *clocktesting.FakePassiveClock
	controllers int

	mu       sync.Mutex
	passes   int
	contests map[int]*ensure.Error // by each controller, the last contest
}

// startSharedManager starts a manager with a controller for each pass.
func startSharedManager(t *testing.T, namespace string, owner client.Object, passes ...passFunc) *sharedManager {
	t.Helper()
	scheme, err := program.Scheme()
	require.NoError(t, err)
	f := &sharedManager{
		t: t, name: "shared-manager-" + namespace, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		controllers: len(passes), contests: map[int]*ensure.Error{},
	}
	mgr, err := ctrl.NewManager(program.Config(shared, f.name), ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	e := ensure.New(mgr.GetClient(), mgr.GetAPIReader(), fieldOwner, testclock.With[ensure.Setting](f.clock))
	for i, pass := range passes {
		require.NoError(t, ctrl.NewControllerManagedBy(mgr).Named(f.name+strconv.Itoa(i)).
			For(owner).Owns(&corev1.ConfigMap{}).
			Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
				current, _ := owner.DeepCopyObject().(client.Object)
				if err := mgr.GetClient().Get(ctx, request.NamespacedName, current); err != nil {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				f.note(i, pass(ctx, e, current))
				return reconcile.Result{RequeueAfter: tick}, nil
			})))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return f
}

func (m *sharedManager) note(controller int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passes++
	failed, ok := errors.AsType[*ensure.Error](err)
	switch {
	case errors.Is(err, ensure.ErrContested) && ok:
		m.contests[controller] = failed
	case err != nil:
		m.t.Logf("controller %d: %v", controller, err)
		if ok {
			m.clock.SetTime(m.clock.Now().Add(failed.After))
		}
	}
}

// contest returns a controller's last contest error.
func (m *sharedManager) contest(controller int) *ensure.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contests[controller]
}

// awaitContests returns when every controller has said that there is a contest.
func (m *sharedManager) awaitContests() {
	m.t.Helper()
	require.NoError(m.t, await.Until(m.t.Context(), limit, func(context.Context) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.contests) < m.controllers {
			return fmt.Errorf("after %d passes only these are contested: %v", m.passes, m.contests)
		}
		return nil
	}))
}

// awaitPasses returns when all controllers together have done n more.
func (m *sharedManager) awaitPasses(n int) {
	m.t.Helper()
	count := func() int { m.mu.Lock(); defer m.mu.Unlock(); return m.passes }
	enough := count() + n
	require.Eventually(m.t, func() bool { return count() >= enough }, limit, tick)
}

// owned is settings with a color that is wanted for the owner.
func owned(color string) passFunc {
	return func(ctx context.Context, e *ensure.Ensurer, owner client.Object) error {
		_, err := ensure.Object(ctx, e, colored(owner.GetNamespace(), color), ensure.ControlledBy(owner))
		return err
	}
}

// prunes wants no settings.
func prunes(ctx context.Context, e *ensure.Ensurer, owner client.Object) error {
	_, err := ensure.Set(ctx, e, owner, nil, ensure.Prune(&corev1.ConfigMap{}))
	return err
}

// removes wants no settings either.
func removes(ctx context.Context, e *ensure.Ensurer, owner client.Object) error {
	_, err := ensure.Absent(ctx, e, settings(owner.GetNamespace()), ensure.ControlledBy(owner))
	return err
}

// TestContestOfTwoControllers: each controller is woken by the writes of the other.
func TestContestOfTwoControllers(t *testing.T) {
	cases := map[string]struct {
		second passFunc
		paths  []string
		bound  int // of requests until it is a contest
	}{
		"that want two colors": {owned("red"), []string{"data[color]"}, 40},
		"one of which prunes":  {prunes, nil, 80},
		"one of which removes": {removes, nil, 80},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := shared.Namespace(t)
			owner := web(namespace, new(int32(0)))
			c := program.Client(t, shared, "user")
			require.NoError(t, c.Create(t.Context(), owner))
			since, begun := shared.Mark(), time.Now()
			f := startSharedManager(t, namespace, &appsv1.Deployment{}, owned("blue"), tc.second)
			f.awaitContests()
			figures := newTable(t, "requests of two controllers of one operator, "+name)
			requests := len(program.Requests(t, shared, since, f.name))
			figures.row("until it is a contest", requests, time.Since(begun))
			require.LessOrEqual(t, requests, tc.bound)
			for i := range 2 {
				require.Equal(t, anotherCaller, f.contest(i).Rival, f.contest(i))
				require.Equal(t, tc.paths, f.contest(i).Paths)
				t.Logf("what it says: %v", f.contest(i))
			}

			since, begun = shared.Mark(), time.Now()
			f.awaitPasses(50)
			requests = len(program.Requests(t, shared, since, f.name))
			figures.row("50 passes while it is held", requests, time.Since(begun))
			require.LessOrEqual(t, requests, 1) // that of the pass that was on its way

			since = shared.Mark()
			for _, hold := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
				f.clock.SetTime(f.clock.Now().Add(hold))
				f.awaitPasses(30)
			}
			requests = len(program.Requests(t, shared, since, f.name))
			figures.row("the next three tries, by its clock", requests, 70*time.Second)
			require.LessOrEqual(t, requests, 12, "a creation and a deletion take a read")
		})
	}
}

// TestContestWithOneself: desired holds the time, and each write wakes the operator again.
func TestContestWithOneself(t *testing.T) {
	namespace := shared.Namespace(t)
	owner := web(namespace, new(int32(0)))
	c := program.Client(t, shared, "user")
	require.NoError(t, c.Create(t.Context(), owner))
	since, begun := shared.Mark(), time.Now()
	f := startSharedManager(t, namespace, &appsv1.Deployment{}, func(ctx context.Context, e *ensure.Ensurer, owner client.Object) error {
		desired := settings(owner.GetNamespace())
		desired.Annotations = map[string]string{"reconciled-at": time.Now().String(), "paused": fmt.Sprint(owner.(*appsv1.Deployment).Spec.Paused)}
		_, err := ensure.Object(ctx, e, desired, ensure.ControlledBy(owner))
		return err
	})
	f.awaitContests()
	figures := newTable(t, "requests of an operator that writes the time")
	requests := len(program.Requests(t, shared, since, f.name))
	figures.row("until it is a contest", requests, time.Since(begun))
	require.LessOrEqual(t, requests, 25)
	require.Equal(t, fieldOwner, f.contest(0).Rival)
	require.Equal(t, []string{"metadata.annotations[reconciled-at]"}, f.contest(0).Paths)
	t.Logf("what it says: %v", f.contest(0))

	since = shared.Mark()
	f.awaitPasses(50)
	require.Empty(t, program.Requests(t, shared, since, f.name), "while it is held")

	// A change of a user is still carried out.
	require.NoError(t, merge(t.Context(), c, owner, `{"spec":{"paused":true}}`))
	require.Eventually(t, func() bool {
		live := settings(namespace)
		return c.Get(t.Context(), client.ObjectKeyFromObject(live), live) == nil && live.Annotations["paused"] == "true"
	}, limit, tick)
}

// TestNoContestWithAChangeOfDesired: desired changes every ten seconds, to a new state or between
// two states.
func TestNoContestWithAChangeOfDesired(t *testing.T) {
	for name, states := range map[string]int{"ever another": 30, "one of two": 2} {
		t.Run(name, func(t *testing.T) {
			namespace := shared.Namespace(t)
			o := startOperator(t, "changing-operator-"+namespace, settings(namespace))
			o.awaitSuccess()
			since := shared.Mark()
			for i := range 30 {
				o.advanceClock(10 * time.Second)
				o.changeDesired(func(desired client.Object) { desired.(*corev1.ConfigMap).Data["shape"] = strconv.Itoa(i % states) })
				o.awaitSuccess()
				require.Equal(t, i+1, o.writes(since))
			}
			requireNoContest(t, o)
			require.Equal(t, 30, o.requests(since))
		})
	}
}

// TestContestEndsWithABurst: after a burst of changes, a change every ten seconds is not held.
func TestContestEndsWithABurst(t *testing.T) {
	namespace := shared.Namespace(t)
	o := startOperator(t, "bursting-operator-"+namespace, settings(namespace))
	o.awaitSuccess()
	since := shared.Mark()
	next := 0
	change := func() {
		next++
		o.changeDesired(func(desired client.Object) { desired.(*corev1.ConfigMap).Data["shape"] = strconv.Itoa(next) })
	}
	for !o.awaitVerdict() {
		require.Less(t, next, 30)
		change()
	}
	require.Equal(t, next, o.writes(since))
	for range 30 {
		o.advanceClock(10 * time.Second)
		change()
		o.awaitSuccess()
		require.Equal(t, next, o.writes(since))
	}
}

// TestNoContestWithAUserWhoTogglesTheOwner: as fast as a user can.
func TestNoContestWithAUserWhoTogglesTheOwner(t *testing.T) {
	namespace := shared.Namespace(t)
	owner := web(namespace, new(int32(0)))
	c := program.Client(t, shared, "user")
	require.NoError(t, c.Create(t.Context(), owner))
	f := startSharedManager(t, namespace, &appsv1.Deployment{}, func(ctx context.Context, e *ensure.Ensurer, owner client.Object) error {
		color := "blue"
		if owner.(*appsv1.Deployment).Spec.Paused {
			color = "red"
		}
		return owned(color)(ctx, e, owner)
	})
	for i := range 40 {
		want := [2]string{"blue", "red"}[i%2]
		require.NoError(t, merge(t.Context(), c, owner, fmt.Sprintf(`{"spec":{"paused":%t}}`, want == "red")))
		require.Eventually(t, func() bool {
			live := settings(namespace)
			return c.Get(t.Context(), client.ObjectKeyFromObject(live), live) == nil && live.Data["color"] == want
		}, limit, tick)
	}
	require.Nil(t, f.contest(0))
}
