package conformance_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
)

// racingClient runs a function right before the operator's next write, after the read.
type racingClient struct {
	client.Client
	before func()
}

func (r *racingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if before := r.before; before != nil {
		r.before = nil
		before()
	}
	return r.Client.Patch(ctx, obj, patch, opts...)
}

// TestRaces deletes and replaces the child between the operator's read and its write. The built-in
// controllers are done with a child before the deletion: the DaemonSet controller, for example,
// would otherwise mistake pods that it is about to create for pods of the next child of that name,
// and wait five minutes for them.
func TestRaces(t *testing.T) {
	t.Parallel()
	for _, k := range some(t, kindCases()) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			raced := plain(t)
			race := &racingClient{Client: raced.client}
			raced.client = race
			f := newFixture(t, raced, k)
			made, _ := f.pass()
			f.settle()

			t.Log("deleted: the old one stays gone, a new one is made")
			f.edit(f.drift())
			race.before = f.delete
			res, _ := f.pass()
			f.requireOperation(res, ensure.Created, ensure.Missing)
			require.NotEqual(t, made.Live.GetUID(), res.Live.GetUID(), "the deleted object was resurrected")
			f.settle()

			t.Log("replaced by a stranger's: it is left alone")
			f.edit(f.drift())
			race.before = func() {
				f.delete()
				f.createForeign(controlledBy(t, f.otherOwner)...)
			}
			_, err := f.ensure()
			require.ErrorIs(t, err, ensure.ErrForeign)
			require.Equal(t, f.otherOwner.GetUID(), f.live().GetOwnerReferences()[0].UID)
			require.Len(t, f.live().GetOwnerReferences(), 1)

			t.Log("created by a stranger while it was missing: likewise")
			f.awaitControllers()
			f.delete()
			race.before = func() { f.createForeign(controlledBy(t, f.otherOwner)...) }
			_, err = f.ensure()
			require.ErrorIs(t, err, ensure.ErrForeign)

			t.Log("deleted again and again: a conflict, to be retried soon")
			f.awaitControllers()
			f.delete()
			f.clock.Advance(time.Minute) // the cache did not show the stranger's, so that the back-off goes on
			f.pass()
			f.settle()
			f.edit(f.drift())
			race.before = func() {
				f.delete()
				race.before = func() { f.createForeign() }
			}
			_, err = f.ensure()
			require.True(t, apierrors.IsConflict(err), "%v", err)
			again, err := ensure.Retry(t.Context(), err)
			require.NoError(t, err)
			require.Equal(t, 100*time.Millisecond, again.RequeueAfter)
			f.noteShown(neverBack)
		})
	}
}

// drift is an edit of something that every kind's object specifies.
func (f *fixture) drift() edit { return commonEdits[0] }

// laggingCache is a cache that has not heard of one object yet.
type laggingCache struct {
	client.Client
	caughtUp atomic.Bool
}

func (l *laggingCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if !l.caughtUp.Load() {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return l.Client.Get(ctx, key, obj, opts...)
}

// TestLaggingCache: four reconciles at once, again and again while the cache shows
// nothing for ten seconds, make one object and no error that a user would see.
func TestLaggingCache(t *testing.T) {
	t.Parallel()
	for _, k := range some(t, kindCases()) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			slow := plain(t)
			cache := &laggingCache{Client: slow.client}
			slow.client = cache
			f := newFixture(t, slow, k)
			clock := clocktesting.NewFakePassiveClock(time.Now())
			f.ensurer = ensure.New(cache, slow.reader, fieldOwner, testclock.With[ensure.Setting](clock))

			var uids sync.Map
			reconcile := func() {
				var group sync.WaitGroup
				for range 4 {
					group.Go(func() {
						res, err := f.ensure()
						if err == nil {
							uids.Store(res.Live.GetUID(), true)
						} else if !apierrors.IsConflict(err) { // tried again at once, and shown to nobody
							t.Errorf("a user would see %v", err)
						}
					})
				}
				group.Wait()
			}
			for range 10 {
				reconcile()
				clock.SetTime(clock.Now().Add(time.Second))
			}
			cache.caughtUp.Store(true)
			reconcile()
			n := 0
			uids.Range(func(any, any) bool { n++; return true })
			require.Equal(t, 1, n, "objects that were made")
			f.settle()
			f.noteShown(lagged)
		})
	}
}

// hiddenLimit is far longer than three passes that wait in vain, and far shorter than the test's
// own limit.
const hiddenLimit = time.Minute

// TestHidden: a cache whose selector excludes the child is detected, and shows the child once the
// label is stamped.
func TestHidden(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, stamp string
		opts        runtimecluster.Options
	}{
		{"cache", "stamped", runtimecluster.Options{}},
		{"cache that reads its writes", "stamped-and-read", readingItsWrites()},
	} {
		stamp := map[string]string{"stamp": tc.stamp}
		opts := tc.opts
		opts.Cache.ByObject = map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(stamp)}}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := cached(t, opts)
			f := newFixture(t, a, configMap())
			whole := f.ctx
			// Each pass ends: a read that waits in vain for the cache times out.
			ctx, cancel := context.WithTimeout(whole, hiddenLimit)
			defer cancel()
			f.ctx = ctx
			clock := clocktesting.NewFakePassiveClock(time.Now())
			f.ensurer = ensure.New(a.client, a.reader, fieldOwner, testclock.With[ensure.Setting](clock))
			f.pass()
			res, requests := f.pass()
			f.requireOperation(res, ensure.Unchanged, "", "found on the server")
			f.requireRequests(requests, 0, 1) // it was made a moment ago, so the server is asked
			clock.SetTime(clock.Now().Add(2 * time.Minute))
			version := f.live().GetResourceVersion()
			_, err := f.ensure()
			require.ErrorIs(t, err, ensure.ErrHidden)
			require.Equal(t, version, f.live().GetResourceVersion())

			f.ctx = whole
			f.delete()
			f.ensurer = ensure.New(a.client, a.reader, fieldOwner, ensure.WithLabels(stamp))
			f.pass()
			f.requireFiveFreePasses("with the label")
		})
	}
}

// TestTerminatingNamespace: nothing can be made in a namespace that is going.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plain(t), configMap())
	f.pass()
	f.edit(foreignFinalizer) // holds the namespace
	namespace := &corev1.Namespace{}
	namespace.Name = f.namespace
	require.NoError(t, f.admin.Delete(f.ctx, namespace))
	f.await("the namespace to be terminating", func() bool {
		return f.admin.Get(f.ctx, client.ObjectKeyFromObject(namespace), namespace) == nil && namespace.DeletionTimestamp != nil
	})
	desired := f.desired()
	desired.SetName("another")
	_, err := ensure.Object(f.ctx, f.ensurer, desired, ensure.ControlledBy(f.owner))
	require.ErrorIs(t, err, ensure.ErrTerminating)
}

// TestInvalid: the error of a refused write names the field and contains no content of the request.
func TestInvalid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plain(t), deployment())
	f.pass()
	f.settle()
	desired := f.desired()
	podTemplateOf(desired).Spec.Containers[0].Image = ""
	podTemplateOf(desired).Spec.Containers[0].Env[1].Value = "hunter2"
	_, err := ensure.Object(f.ctx, f.ensurer, desired, ensure.ControlledBy(f.owner))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorContains(t, err, "spec.template.spec.containers[0].image: Required value")
	require.NotContains(t, err.Error(), "hunter2")
	require.True(t, apierrors.IsInvalid(err))

	var e *ensure.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{"spec.template.spec.containers[0].image"}, e.Paths)

	g := newFixture(t, f.access, unstructuredGadget())
	unknown := g.desired()
	set(unknown.(*unstructured.Unstructured), "hunter2", "spec", "colour")
	_, err = ensure.Object(g.ctx, g.ensurer, unknown, ensure.ControlledBy(g.owner))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorContains(t, err, ".spec.colour: field not declared in schema")
	require.NotContains(t, err.Error(), "hunter2")
}

const (
	neverBack       = "deleted or replaced before a write is never brought back"
	lagged          = "a lagging cache makes no second object and no error"
	seesTermination = "a deletion that begins before a write is seen"
	keepsFinalizer  = "a finalizer added before a write stays"
	yieldsToOwner   = "another controller that comes before a write is left alone"
	ownFinalizer    = "an object with our finalizer is made again once it is gone"
)

// newRacingFixture runs a function between the operator's read and its write.
func newRacingFixture(t *testing.T, a access, k kindCase) (*fixture, *racingClient) {
	t.Helper()
	race := &racingClient{Client: a.client}
	a.client = race
	f := newFixture(t, a, k)
	f.createIsOneRequest()
	return f, race
}

// TestMetadataRaces changes the child's metadata between the operator's read and its write. An
// apply without a resourceVersion does not notice the change by itself.
func TestMetadataRaces(t *testing.T) {
	t.Parallel()
	a := plain(t)
	for _, k := range some(t, kindCases()) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			f, race := newRacingFixture(t, a, k)

			t.Log("a finalizer is added: it stays")
			f.edit(f.drift())
			race.before = func() { f.edit(foreignFinalizer) }
			res, _ := f.pass()
			f.requireOperation(res, ensure.Updated, ensure.Drifted)
			require.Contains(t, f.live().GetFinalizers(), "theirs.example.com/finalizer")
			f.requireFiveFreePasses("after the finalizer")
			f.noteShown(keepsFinalizer)

			t.Log("another controller takes over: it is left alone")
			f.edit(f.drift())
			var taken client.Object
			race.before = func() {
				taken = f.edit(edit{"another controller", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(t, f.otherOwner)) }})
			}
			_, err := f.ensure()
			require.ErrorIs(t, err, ensure.ErrForeign)
			f.requireSame(taken, f.live())
			f.requireRefusal(ensure.ErrForeign, 0)
			f.noteShown(yieldsToOwner)

			t.Log("its deletion begins: nothing brings it back, and it is made again afterwards")
			f.edit(edit{"our controller again", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(t, f.owner)) }})
			race.before = func() { require.NoError(t, f.admin.Delete(f.ctx, f.live())) }
			_, err = f.ensure()
			require.ErrorIs(t, err, ensure.ErrTerminating)
			require.NotNil(t, f.live().GetDeletionTimestamp())
			f.requireRefusal(ensure.ErrTerminating, 0)
			f.delete()
			f.deletedIsMadeAgain()
			f.noteShown(seesTermination)
		})
	}
}

// TestUncontrolledRace: a child without a controller gets a foreign one between the operator's read
// and its write.
func TestUncontrolledRace(t *testing.T) {
	t.Parallel()
	a := plain(t)
	for _, k := range some(t, kindCases()) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			race := &racingClient{Client: a.client}
			raced := a
			raced.client = race
			f := newFixture(t, raced, k)
			res, _ := f.passWith(f.ensurer, f.desired())
			f.requireOperation(res, ensure.Created, ensure.Missing)
			f.awaitSettled()

			f.edit(f.drift())
			race.before = func() {
				f.edit(edit{"another controller", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(t, f.otherOwner)) }})
			}
			desired := f.desired()
			desired.SetNamespace(f.childNamespace)
			_, err := ensure.Object(f.ctx, f.ensurer, desired)
			require.ErrorIs(t, err, ensure.ErrForeign)
			require.Equal(t, f.otherOwner.GetUID(), f.live().GetOwnerReferences()[0].UID)
			f.noteShown(yieldsToOwner)
		})
	}
}

// TestOwnFinalizer: desired names a finalizer, which cannot be added to an object that is being
// deleted. The next object has the finalizer.
func TestOwnFinalizer(t *testing.T) {
	t.Parallel()
	const finalizer = "ours.example.com/finalizer"
	a := plain(t)
	for _, k := range sampleKinds() {
		desired := k.desired
		k.desired = func() client.Object {
			obj := desired()
			obj.SetFinalizers([]string{finalizer})
			return obj
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			f, race := newRacingFixture(t, a, k)
			f.edit(edit{"no finalizer", func(obj client.Object) { obj.SetFinalizers(nil) }})
			res, requests := f.pass()
			f.requireOperation(res, ensure.Updated, ensure.Drifted)
			f.requireWrites(requests, 1)
			require.Contains(t, f.live().GetFinalizers(), finalizer)
			f.requireFiveFreePasses("with the finalizer")

			f.edit(edit{"another's finalizer", func(obj client.Object) { obj.SetFinalizers([]string{"theirs.example.com/finalizer"}) }})
			race.before = func() { require.NoError(t, f.admin.Delete(f.ctx, f.live())) }
			_, err := f.ensure()
			require.ErrorIs(t, err, ensure.ErrTerminating)
			require.NotContains(t, f.live().GetFinalizers(), finalizer)
			f.requireRefusal(ensure.ErrTerminating, 0)

			f.deletedIsMadeAgain()
			require.Contains(t, f.live().GetFinalizers(), finalizer)
			f.noteShown(ownFinalizer)
		})
	}
}
