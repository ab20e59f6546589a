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
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/trueup-go/trueup/ensure"
)

// racing runs a function right before the operator's next write, after the read.
type racing struct {
	client.Client
	before func()
}

func (r *racing) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
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
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			raced := plain(t)
			race := &racing{Client: raced.client}
			raced.client = race
			b := newBench(t, raced, s)
			made, _ := b.pass()
			b.settle()

			t.Log("deleted: the old one stays gone, a new one is made")
			b.edit(b.drift())
			race.before = b.delete
			res, _ := b.pass()
			b.requireOperation(res, ensure.Created, ensure.Missing)
			require.NotEqual(t, made.Live.GetUID(), res.Live.GetUID(), "the deleted object was resurrected")
			b.settle()

			t.Log("replaced by a stranger's: it is left alone")
			b.edit(b.drift())
			race.before = func() {
				b.delete()
				b.createStrangers(controlledBy(t, b.stranger)...)
			}
			_, err := b.ensure()
			require.ErrorIs(t, err, ensure.ErrForeign)
			require.Equal(t, b.stranger.GetUID(), b.live().GetOwnerReferences()[0].UID)
			require.Len(t, b.live().GetOwnerReferences(), 1)

			t.Log("created by a stranger while it was missing: likewise")
			b.awaitControllers()
			b.delete()
			race.before = func() { b.createStrangers(controlledBy(t, b.stranger)...) }
			_, err = b.ensure()
			require.ErrorIs(t, err, ensure.ErrForeign)

			t.Log("deleted again and again: a conflict, to be retried soon")
			b.awaitControllers()
			b.delete()
			b.pass()
			b.settle()
			b.edit(b.drift())
			race.before = func() {
				b.delete()
				race.before = func() { b.createStrangers() }
			}
			_, err = b.ensure()
			require.True(t, apierrors.IsConflict(err), "%v", err)
			again, err := ensure.Retry(t.Context(), err)
			require.NoError(t, err)
			require.Equal(t, 100*time.Millisecond, again.RequeueAfter)
			b.shows(neverBack)
		})
	}
}

// drift is an edit of something that every subject specifies.
func (b *bench) drift() edit { return commonEdits[0] }

// lagging is a cache that has not heard of one object yet.
type lagging struct {
	client.Client
	caughtUp atomic.Bool
}

func (l *lagging) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if !l.caughtUp.Load() {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return l.Client.Get(ctx, key, obj, opts...)
}

// TestLaggingCache: four reconciles at once, again and again while the cache shows
// nothing for ten seconds, make one object and no error that a user would see.
func TestLaggingCache(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			slow := plain(t)
			cache := &lagging{Client: slow.client}
			slow.client = cache
			b := newBench(t, slow, s)
			clock := testclock.NewFakePassiveClock(time.Now())
			b.ensurer = ensure.New(cache, slow.reader, fieldOwner, ensure.WithClock(clock))

			var uids sync.Map
			reconcile := func() {
				var group sync.WaitGroup
				for range 4 {
					group.Go(func() {
						res, err := b.ensure()
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
			b.settle()
			b.shows(lagged)
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
			b := newBench(t, a, configMap())
			whole := b.ctx
			// Each pass ends: a read that waits in vain for the cache times out.
			ctx, cancel := context.WithTimeout(whole, hiddenLimit)
			defer cancel()
			b.ctx = ctx
			clock := testclock.NewFakePassiveClock(time.Now())
			b.ensurer = ensure.New(a.client, a.reader, fieldOwner, ensure.WithClock(clock))
			b.pass()
			res, requests := b.pass()
			b.requireOperation(res, ensure.Unchanged, "", "found on the server")
			b.requireRequests(requests, 0, 1) // it was made a moment ago, so the server is asked
			clock.SetTime(clock.Now().Add(2 * time.Minute))
			version := b.live().GetResourceVersion()
			_, err := b.ensure()
			require.ErrorIs(t, err, ensure.ErrHidden)
			require.Equal(t, version, b.live().GetResourceVersion())

			b.ctx = whole
			b.delete()
			b.ensurer = ensure.New(a.client, a.reader, fieldOwner, ensure.WithLabels(stamp))
			b.pass()
			b.requireFiveFreePasses("with the label")
		})
	}
}

// TestTerminatingNamespace: nothing can be made in a namespace that is going.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	b := newBench(t, plain(t), configMap())
	b.pass()
	b.edit(foreignFinalizer) // holds the namespace
	namespace := &corev1.Namespace{}
	namespace.Name = b.namespace
	require.NoError(t, b.human.Delete(b.ctx, namespace))
	b.await("the namespace to be terminating", func() bool {
		return b.human.Get(b.ctx, client.ObjectKeyFromObject(namespace), namespace) == nil && namespace.DeletionTimestamp != nil
	})
	desired := b.desired()
	desired.SetName("another")
	_, err := ensure.Object(b.ctx, b.ensurer, desired, ensure.ControlledBy(b.owner))
	require.ErrorIs(t, err, ensure.ErrTerminating)
}

// TestInvalid: the error of a refused write names the field and contains no content of the request.
func TestInvalid(t *testing.T) {
	t.Parallel()
	b := newBench(t, plain(t), deployment())
	b.pass()
	b.settle()
	desired := b.desired()
	podTemplateOf(desired).Spec.Containers[0].Image = ""
	podTemplateOf(desired).Spec.Containers[0].Env[1].Value = "hunter2"
	_, err := ensure.Object(b.ctx, b.ensurer, desired, ensure.ControlledBy(b.owner))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorContains(t, err, "spec.template.spec.containers[0].image: Required value")
	require.NotContains(t, err.Error(), "hunter2")
	require.True(t, apierrors.IsInvalid(err))

	var e *ensure.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{"spec.template.spec.containers[0].image"}, e.Paths)

	g := newBench(t, b.access, unstructuredGadget())
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

// racingBench runs a function between the operator's read and its write.
func racingBench(t *testing.T, a access, s subject) (*bench, *racing) {
	t.Helper()
	race := &racing{Client: a.client}
	a.client = race
	b := newBench(t, a, s)
	b.createIsOneRequest()
	return b, race
}

// TestMetadataRaces changes the child's metadata between the operator's read and its write. An
// apply without a resourceVersion does not notice the change by itself.
func TestMetadataRaces(t *testing.T) {
	t.Parallel()
	a := plain(t)
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b, race := racingBench(t, a, s)

			t.Log("a finalizer is added: it stays")
			b.edit(b.drift())
			race.before = func() { b.edit(foreignFinalizer) }
			res, _ := b.pass()
			b.requireOperation(res, ensure.Updated, ensure.Drifted)
			require.Contains(t, b.live().GetFinalizers(), "theirs.example.com/finalizer")
			b.requireFiveFreePasses("after the finalizer")
			b.shows(keepsFinalizer)

			t.Log("another controller takes over: it is left alone")
			b.edit(b.drift())
			var taken client.Object
			race.before = func() {
				taken = b.edit(edit{"another controller", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(t, b.stranger)) }})
			}
			_, err := b.ensure()
			require.ErrorIs(t, err, ensure.ErrForeign)
			b.requireSame(taken, b.live())
			b.requireRefusal(ensure.ErrForeign, 0)
			b.shows(yieldsToOwner)

			t.Log("its deletion begins: nothing brings it back, and it is made again afterwards")
			b.edit(edit{"our controller again", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(t, b.owner)) }})
			race.before = func() { require.NoError(t, b.human.Delete(b.ctx, b.live())) }
			_, err = b.ensure()
			require.ErrorIs(t, err, ensure.ErrTerminating)
			require.NotNil(t, b.live().GetDeletionTimestamp())
			b.requireRefusal(ensure.ErrTerminating, 0)
			b.delete()
			b.deletedIsMadeAgain()
			b.shows(seesTermination)
		})
	}
}

// TestUncontrolledRace: a child without a controller gets a foreign one between the operator's read
// and its write.
func TestUncontrolledRace(t *testing.T) {
	t.Parallel()
	a := plain(t)
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			race := &racing{Client: a.client}
			raced := a
			raced.client = race
			b := newBench(t, raced, s)
			res, _ := b.passWith(b.ensurer, b.desired())
			b.requireOperation(res, ensure.Created, ensure.Missing)
			b.awaitSettled()

			b.edit(b.drift())
			race.before = func() {
				b.edit(edit{"another controller", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(t, b.stranger)) }})
			}
			desired := b.desired()
			desired.SetNamespace(b.home)
			_, err := ensure.Object(b.ctx, b.ensurer, desired)
			require.ErrorIs(t, err, ensure.ErrForeign)
			require.Equal(t, b.stranger.GetUID(), b.live().GetOwnerReferences()[0].UID)
			b.shows(yieldsToOwner)
		})
	}
}

// TestOwnFinalizer: desired names a finalizer, which cannot be added to an object that is being
// deleted. The next object has the finalizer.
func TestOwnFinalizer(t *testing.T) {
	t.Parallel()
	const finalizer = "ours.example.com/finalizer"
	a := plain(t)
	for _, s := range handful() {
		desired := s.desired
		s.desired = func() client.Object {
			obj := desired()
			obj.SetFinalizers([]string{finalizer})
			return obj
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b, race := racingBench(t, a, s)
			b.edit(edit{"no finalizer", func(obj client.Object) { obj.SetFinalizers(nil) }})
			res, requests := b.pass()
			b.requireOperation(res, ensure.Updated, ensure.Drifted)
			b.requireWrites(requests, 1)
			require.Contains(t, b.live().GetFinalizers(), finalizer)
			b.requireFiveFreePasses("with the finalizer")

			b.edit(edit{"another's finalizer", func(obj client.Object) { obj.SetFinalizers([]string{"theirs.example.com/finalizer"}) }})
			race.before = func() { require.NoError(t, b.human.Delete(b.ctx, b.live())) }
			_, err := b.ensure()
			require.ErrorIs(t, err, ensure.ErrTerminating)
			require.NotContains(t, b.live().GetFinalizers(), finalizer)
			b.requireRefusal(ensure.ErrTerminating, 0)

			b.deletedIsMadeAgain()
			require.Contains(t, b.live().GetFinalizers(), finalizer)
			b.shows(ownFinalizer)
		})
	}
}
