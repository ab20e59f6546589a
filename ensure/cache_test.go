package ensure_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/consistency"
)

// A cache that shows a new object only after 10 s, and four reconciles at once.
func TestLaggingCacheMakesNeitherErrorsNorASecondObject(t *testing.T) {
	s := newServer()
	clock := newClock()
	start := clock.Now()
	lagging := s.cached(func(live client.Object) client.Object {
		if clock.Since(start) < 10*time.Second {
			return nil
		}
		return live
	})
	e := ensure.New(lagging, s, fieldOwner, withClock(clock))

	operations := fourAtOnce(t, e)
	require.ElementsMatch(t, []ensure.Operation{ensure.Created, ensure.Unchanged, ensure.Unchanged, ensure.Unchanged}, operations)
	uid := live(t, s, configMap()).UID
	var list corev1.ConfigMapList
	require.NoError(t, s.fake.List(t.Context(), &list))
	require.Len(t, list.Items, 1)
	for _, r := range s.take() {
		require.NotEqual(t, "apply", r.verb, "there was nothing to put right")
	}

	clock.SetTime(start.Add(9 * time.Second))
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()), "it was made, so look before making it")

	clock.SetTime(start.Add(10 * time.Second))
	shown := mustEnsure(t, e, configMap())
	require.Equal(t, ensure.Unchanged, shown.Operation)
	require.Equal(t, uid, shown.Live.UID)
	require.Empty(t, s.verbs())
}

// What the cache has not shown since it was made may as well have been deleted; what it
// has shown was.
func TestAChildThatIsGoneFromTheCacheIsMadeAgain(t *testing.T) {
	cases := map[string]struct {
		shown bool
		want  []string
	}{
		"never shown": {false, []string{"get", "create"}},
		"shown":       {true, []string{"create"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			e := ensure.New(s.cached(faithful), s, fieldOwner)
			mustEnsure(t, e, configMap())
			if tc.shown {
				mustEnsure(t, e, configMap())
			}
			s.remove(t, configMap())
			s.take()
			require.Equal(t, ensure.Created, mustEnsure(t, e, configMap()).Operation)
			require.Empty(t, cmp.Diff(tc.want, s.verbs()))
		})
	}
}

func fourAtOnce(t *testing.T, e *ensure.Ensurer) []ensure.Operation {
	t.Helper()
	var (
		group   sync.WaitGroup
		results [4]ensure.Result[*corev1.ConfigMap]
		errs    [4]error
	)
	for i := range results {
		group.Go(func() { results[i], errs[i] = ensure.Object(t.Context(), e, configMap()) })
	}
	group.Wait()
	var operations []ensure.Operation
	for i := range results {
		require.NoError(t, errs[i])
		operations = append(operations, results[i].Operation)
	}
	return operations
}

func TestHiddenChildIsReportedAfterTwoMinutes(t *testing.T) {
	s := newServer()
	clock := newClock()
	show := view(hidden)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner, withClock(clock))
	pass := func() error {
		_, err := ensure.Object(t.Context(), e, configMap())
		return err
	}
	after := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }

	require.NoError(t, pass()) // created
	after(time.Hour)
	require.NoError(t, pass(), "nobody looked in between: the cache may be a moment behind")
	after(2*time.Minute - time.Millisecond)
	require.NoError(t, pass())
	s.take()
	after(time.Millisecond)
	err := pass()
	require.ErrorIs(t, err, ensure.ErrHidden)
	require.Equal(t, "Hidden", ensure.Reason(err))
	require.ErrorContains(t, err, "it lacks a label by which the cache selects")
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))

	show = faithful
	require.NoError(t, pass(), "the cache shows it")
	show = hidden
	require.NoError(t, pass(), "seen in between: the two minutes begin again")
	after(time.Minute)
	s.remove(t, configMap())
	require.NoError(t, pass()) // created again
	require.NoError(t, pass())
	after(time.Minute)
	require.NoError(t, pass(), "another object: its two minutes began later")
	after(time.Minute)
	require.ErrorIs(t, pass(), ensure.ErrHidden)
}

// A hidden child that is gone costs one request, and then none.
func TestHiddenChildThatIsGone(t *testing.T) {
	s, clock := newServer(), newClock()
	e := ensure.New(s.cached(hidden), s, fieldOwner, withClock(clock))
	mustEnsure(t, e, configMap())
	mustEnsure(t, e, configMap())
	s.remove(t, configMap())
	clock.SetTime(clock.Now().Add(time.Hour))
	s.take()
	require.Equal(t, ensure.Gone, mustEnsure(t, e, configMap(), ensure.IfExists()).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
	require.Equal(t, ensure.Gone, mustEnsure(t, e, configMap(), ensure.IfExists()).Operation)
	require.Empty(t, s.verbs())
}

// A child that somebody took out of the cache, by removing its label, comes back as soon as the API server
// accepts that, however late.
func TestHiddenChildThatDiffers(t *testing.T) {
	s, clock := newServer(), newClock()
	show := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner, withClock(clock))
	mustEnsure(t, e, configMap())
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	show = hidden
	s.answers = []error{apierrors.NewForbidden(corev1.Resource("configmaps"), "settings", nil)}
	_, err := ensure.Object(t.Context(), e, configMap())
	require.ErrorIs(t, err, ensure.ErrAPI)

	clock.SetTime(clock.Now().Add(time.Hour))
	require.Equal(t, ensure.Drifted, mustEnsure(t, e, configMap()).Cause)
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation, "the cache may be a moment behind")
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	_, err = ensure.Object(t.Context(), e, configMap())
	require.ErrorIs(t, err, ensure.ErrHidden, "the write did not bring it back")
}

// IfMissing is content with what somebody else made, wherever the cache looks.
func TestHiddenChildIfMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		found []client.Object
		want  error
	}{
		"ours":   {nil, ensure.ErrHidden},
		"theirs": {[]client.Object{found(func(*corev1.ConfigMap) {})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := newServer(tc.found...), newClock()
			e := ensure.New(s.cached(hidden), s, fieldOwner, withClock(clock))
			mustEnsure(t, e, configMap(), ensure.IfMissing())
			mustEnsure(t, e, configMap(), ensure.IfMissing())
			s.take()
			for range 2 {
				clock.SetTime(clock.Now().Add(2 * time.Minute))
				_, err := ensure.Object(t.Context(), e, configMap(), ensure.IfMissing())
				require.ErrorIs(t, err, tc.want)
				require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
			}
		})
	}
}

// A second read for another reason is no sighting of a child that the cache hides.
func TestChildThatTheCacheShowedIsNotHidden(t *testing.T) {
	s := newServer()
	clock := newClock()
	show := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner, withClock(clock))
	created(t, s, with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" }))
	s.answers = []error{conflict()}
	mustEnsure(t, e, configMap())
	require.Empty(t, cmp.Diff([]string{"apply", "get", "apply"}, s.verbs()))

	clock.SetTime(clock.Now().Add(time.Hour))
	show = hidden
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
}

func TestHiddenForeignObjectIsForeign(t *testing.T) {
	s := newServer(found(func(o *corev1.ConfigMap) {
		o.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", metav1.ManagedFieldsOperationApply)}
	}))
	_, err := ensure.Object(t.Context(), ensure.New(s.cached(hidden), s, fieldOwner), configMap())
	require.ErrorIs(t, err, ensure.ErrForeign)
	require.Empty(t, cmp.Diff([]string{"create", "get"}, s.verbs()))
}

func TestStrippedManagedFieldsCostNothing(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	e := ensure.New(s.cached(withoutManagedFields), s, fieldOwner)
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
	require.Empty(t, s.verbs())

	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	require.Equal(t, ensure.Drifted, mustEnsure(t, e, configMap()).Cause)
	require.Empty(t, cmp.Diff([]string{"apply"}, s.verbs()))
}

func TestStaleCopyIsNoDrift(t *testing.T) {
	s := newServer()
	show := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner)
	old := mustEnsure(t, e, configMap()).Live
	desired := configMap()
	desired.Data["color"] = "red"
	mustEnsure(t, e, desired)
	s.take()

	show = frozen(old)
	result := mustEnsure(t, e, desired)
	require.Equal(t, ensure.Unchanged, result.Operation)
	require.True(t, result.Stale)
	require.Equal(t, "blue", result.Live.Data["color"], "the copy is what it is")
	require.Empty(t, s.verbs())

	desired.Data["color"] = "yellow"
	result = mustEnsure(t, e, desired)
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, ensure.DesiredChanged, result.Cause)
	require.False(t, result.Stale)
	require.Empty(t, cmp.Diff([]string{"apply"}, s.verbs()))
	require.Equal(t, "yellow", live(t, s, desired).Data["color"])

	show = faithful
	result = mustEnsure(t, e, desired)
	require.Equal(t, ensure.Unchanged, result.Operation)
	require.False(t, result.Stale)
	require.Empty(t, s.verbs())
}

func TestGoingBackOnAStaleCopyIsNoChangeMissed(t *testing.T) {
	s := newServer()
	show := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner)
	old := mustEnsure(t, e, configMap()).Live
	red := configMap()
	red.Data["color"] = "red"
	mustEnsure(t, e, red)

	show = frozen(old) // its digest is that of blue
	result := mustEnsure(t, e, configMap())
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, "blue", live(t, s, configMap()).Data["color"])
}

func TestAVersionThatIsNoNumberIsNeverStale(t *testing.T) {
	s := newServer()
	lettered := func(live client.Object) client.Object {
		live.SetResourceVersion("v" + live.GetResourceVersion())
		return live
	}
	created(t, s, configMap())
	e := ensure.New(s.cached(lettered), s, fieldOwner)
	mustEnsure(t, e, configMap())
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)

	result := mustEnsure(t, e, configMap())
	require.False(t, result.Stale)
	require.Equal(t, ensure.Updated, result.Operation)
}

// A stale copy of an object that was replaced since is told by its UID.
func TestAStaleCopyOfAReplacedObject(t *testing.T) {
	s := newServer()
	show := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner)
	old := mustEnsure(t, e, configMap()).Live
	s.remove(t, configMap())
	desired := configMap()
	desired.Data["color"] = "red"

	show = frozen(old)
	result := mustEnsure(t, e, desired)
	require.Equal(t, ensure.Created, result.Operation, "the old one is gone, the apply may not bring it back")
	require.NotEqual(t, old.UID, result.Live.UID)
	verbs := s.verbs()
	require.Empty(t, cmp.Diff([]string{"create", "apply", "get", "create"}, verbs))
}

// EnableReadYourWritesConsistency: a read waits for our own write, which a cache
// that filters the object out never shows.
func TestReadThatWaitsForOurWriteIsBounded(t *testing.T) {
	if !consistency.IsSupported() {
		t.Skip("before controller-runtime v0.25, no read waits for a write")
	}
	t.Parallel()
	for _, exists := range []bool{true, false} {
		t.Run(strconv.FormatBool(exists), func(t *testing.T) {
			t.Parallel()
			s := newServer()
			if exists {
				created(t, s, configMap())
			}
			blocked := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
				Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
					if consistency.IsOff((&client.GetOptions{}).ApplyOptions(o)) {
						return s.peek(ctx, key, obj)
					}
					_, deadline := ctx.Deadline()
					require.False(t, deadline, "client-go's rate limiter would refuse at once")
					<-ctx.Done()
					return fmt.Errorf("failed to wait for cache to catch up: %w", ctx.Err())
				},
			})
			want := ensure.Created
			if exists {
				want = ensure.Unchanged
			}
			require.Equal(t, want, mustEnsure(t, ensure.New(blocked, s, fieldOwner), configMap()).Operation)
		})
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		t.Run(cause.Error(), func(t *testing.T) {
			s := newServer()
			reads := 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if cause == context.DeadlineExceeded { //nolint:errorlint // it is this very error
				expired, release := context.WithDeadline(t.Context(), time.Unix(0, 0))
				defer release()
				ctx = expired
			}
			ended := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
				Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
					reads++
					cancel()
					return fmt.Errorf("reading hunter2: %w", ctx.Err())
				},
			})
			_, err := ensure.Object(ctx, ensure.New(ended, s, fieldOwner), configMap())
			require.ErrorIs(t, err, ensure.ErrAPI)
			require.ErrorIs(t, err, cause)
			require.Equal(t, 1, reads, "nobody waits for the answer any more")
			require.NotContains(t, err.Error(), "hunter2")
			require.Empty(t, s.verbs())
		})
	}
}
