package contest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// An operator is a real one, with its own manager and controller. It watches its child and ensures
// the child at each event. The operator's clock advances only on request of a test, but the delay
// of a requeue is real time.
type operator struct {
	t     *testing.T
	name  string
	clock *clocktesting.FakePassiveClock
	wakes chan event.GenericEvent

	mu        sync.Mutex
	desired   client.Object
	handled   client.Object // the desired state of the last pass
	ensurer   func() *ensure.Ensurer
	passes    int
	last      error
	contested int
}

// startOperator starts an instance that calls itself name.
func startOperator(t *testing.T, name string, desired client.Object) *operator {
	t.Helper()
	scheme, err := program.Scheme()
	require.NoError(t, err)
	mgr, err := ctrl.NewManager(program.Config(shared, name), ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{desired.GetNamespace(): {}}},
		Client:     client.Options{Cache: cluster.ReadYourWrites()},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	o := &operator{
		t: t, name: name, desired: desired,
		clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		wakes: make(chan event.GenericEvent),
	}
	e := ensure.New(mgr.GetClient(), mgr.GetAPIReader(), fieldOwner, testclock.With[ensure.Setting](o.clock))
	o.ensurer = func() *ensure.Ensurer { return e }
	require.NoError(t, ctrl.NewControllerManagedBy(mgr).
		For(desired).
		WatchesRawSource(source.Channel(o.wakes, &handler.EnqueueRequestForObject{})).
		Complete(o))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	o.wake()
	return o
}

func (o *operator) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o.mu.Lock()
	wanted, e := o.desired, o.ensurer()
	o.mu.Unlock()
	desired, _ := wanted.DeepCopyObject().(client.Object)
	if request.NamespacedName != client.ObjectKeyFromObject(desired) {
		return reconcile.Result{}, nil
	}
	_, err := ensure.Object(ctx, e, desired)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.passes++
	o.handled, o.last = wanted, err
	if errors.Is(err, ensure.ErrContested) {
		o.contested++
	}
	return ensure.Retry(ctx, err)
}

// forget has the operator remember nothing from one pass to the next, as one that does not
// count does.
func (o *operator) forget(e func() *ensure.Ensurer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ensurer = e
}

// changeDesired changes the operator's desired state.
func (o *operator) changeDesired(change func(desired client.Object)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	desired, _ := o.desired.DeepCopyObject().(client.Object)
	change(desired)
	o.desired = desired
	go o.wake()
}

// wake has the operator look once more.
func (o *operator) wake() {
	o.mu.Lock()
	desired := o.desired
	o.mu.Unlock()
	select {
	case o.wakes <- event.GenericEvent{Object: desired}:
	case <-o.t.Context().Done():
	}
}

// advanceClock is the clock's.
func (o *operator) advanceClock(d time.Duration) { o.clock.SetTime(o.clock.Now().Add(d)) }

// outcome returns the number of passes, the number of contested ones, and the last error.
func (o *operator) outcome() (passes, contested int, last error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.passes, o.contested, o.last
}

// contest returns the contest error of the last pass, or nil.
func (o *operator) contest() *ensure.Error {
	_, _, last := o.outcome()
	var contested *ensure.Error
	if !errors.Is(last, ensure.ErrContested) || !errors.As(last, &contested) {
		return nil
	}
	return contested
}

// awaitContest wakes the operator until a pass reports a contest and a back-off of after.
func (o *operator) awaitContest(after time.Duration) {
	o.t.Helper()
	o.await(func() bool {
		contested := o.contest()
		return contested != nil && contested.After == after
	})
}

// awaitReverted wakes the operator until it sees, a second after its last write, that this write was
// reverted: otherwise it would wait longer, to see that the write lasts.
func (o *operator) awaitReverted(hold time.Duration) {
	o.t.Helper()
	o.awaitContest(hold)
	o.advanceClock(time.Second)
	o.awaitContest(hold - time.Second)
}

// await wakes the operator until a condition holds.
func (o *operator) await(condition func() bool) {
	o.t.Helper()
	require.Eventually(o.t, func() bool {
		if condition() {
			return true
		}
		o.wake()
		return false
	}, limit, tick, "%v", o)
}

// awaitSuccess wakes the operator until a pass with the present desired state succeeds.
func (o *operator) awaitSuccess() {
	o.t.Helper()
	o.await(func() bool { return o.hasHandled(nil) })
}

// awaitVerdict wakes the operator until a pass with the present desired state succeeds or reports a
// contest, and reports whether there is a contest.
func (o *operator) awaitVerdict() (isContested bool) {
	o.t.Helper()
	o.await(func() bool { return o.hasHandled(nil) || o.hasHandled(ensure.ErrContested) })
	return o.contest() != nil
}

// hasHandled reports whether the last pass had the present desired state and this result.
func (o *operator) hasHandled(result error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.handled == o.desired && errors.Is(o.last, result)
}

// awaitPasses wakes the operator as often as possible for n more passes.
func (o *operator) awaitPasses(n int) {
	o.t.Helper()
	before, _, _ := o.outcome()
	for passes := before; passes < before+n; passes, _, _ = o.outcome() {
		require.NoError(o.t, o.t.Context().Err())
		o.wake()
	}
}

// String describes the last pass.
func (o *operator) String() string {
	_, _, last := o.outcome()
	if last == nil {
		return o.name + " is content"
	}
	return last.Error()
}

// requests counts the operator's requests to the server.
func (o *operator) requests(since cluster.Mark) int {
	o.t.Helper()
	return len(program.Requests(o.t, shared, since, o.name))
}

// writes counts the requests that may have changed something.
func (o *operator) writes(since cluster.Mark) int {
	o.t.Helper()
	found, err := shared.Requests(since, cluster.ByUserAgent(o.name), cluster.Writes)
	require.NoError(o.t, err)
	return len(found)
}
