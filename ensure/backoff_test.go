package ensure_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// A troubled operator has a faithful cache, and a server that refuses every write while it is
// said to.
type troubled struct {
	*apiServer

	t     *testing.T
	clock *clocktesting.FakePassiveClock
	e     *ensure.Ensurer
}

func newTroubled(t *testing.T) *troubled {
	t.Helper()
	s := &troubled{apiServer: newServer(), t: t, clock: newClock()}
	s.e = ensure.New(s.cached(faithful), s, fieldOwner, withClock(s.clock))
	return s
}

func (s *troubled) wait(d time.Duration) { s.clock.SetTime(s.clock.Now().Add(d)) }

// refuse has the server answer the next writes so.
func (s *troubled) refuse(answer error) {
	s.answers = make([]error, 100)
	for i := range s.answers {
		s.answers[i] = answer
	}
}

// pass returns how long the error of a pass asks to wait.
func (s *troubled) pass(opts ...ensure.Option) time.Duration {
	s.t.Helper()
	_, err := ensure.Object(s.t.Context(), s.e, configMap(), opts...)
	var failed *ensure.Error
	require.ErrorAs(s.t, err, &failed)
	return failed.After
}

// holds returns how long each of so many attempts holds, and requires that none is made earlier.
func (s *troubled) holds(attempts int) []time.Duration {
	s.t.Helper()
	var holds []time.Duration
	for range attempts {
		s.take()
		hold := s.pass()
		require.NotEmpty(s.t, s.verbs())
		holds = append(holds, hold)
		s.wait(hold - time.Millisecond)
		if hold == 0 {
			s.wait(time.Millisecond)
			continue
		}
		require.Equal(s.t, time.Millisecond, s.pass())
		require.Empty(s.t, s.verbs(), "it is known")
		s.wait(time.Millisecond)
	}
	return holds
}

func seconds(of ...int) []time.Duration {
	out := make([]time.Duration, 0, len(of))
	for _, s := range of {
		out = append(out, time.Duration(s)*time.Second)
	}
	return out
}

func TestFailedCallsBackOff(t *testing.T) {
	exists := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New("it exists"))
	denied := status(409, metav1.StatusReasonConflict)
	denied.ErrStatus.Message = `admission webhook "strict.example.com" denied the request`
	one := seconds(5, 10, 20, 40, 80, 120, 120) // request in each call
	for name, tc := range map[string]struct {
		reason string
		answer error
		want   []time.Duration
	}{
		"a missing right":       {"a user has to act", status(403, metav1.StatusReasonForbidden), one},
		"an invalid object":     {"a policy may change", status(422, metav1.StatusReasonInvalid), one},
		"no namespace":          {"it may be made", namespaceMissing(), one},
		"a namespace going":     {"it may go soon", status(403, metav1.StatusReasonForbidden, cause("NamespaceTerminating", "")), one},
		"a webhook's 409":       {"it is no conflict of writers", denied, one},
		"a busy server":         {"it may get over that", status(429, metav1.StatusReasonTooManyRequests), one},
		"a webhook down":        {"it may come back", status(500, metav1.StatusReasonInternalError), one},
		"a server out of reach": {"it may come back", errors.New("no route"), one},
		"a conflict that stays": {"it is settled soon as a rule; later a pass takes two requests", exists, seconds(0, 0, 10, 20, 40, 80, 160, 180)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroubled(t)
			s.refuse(tc.answer)
			require.Empty(t, cmp.Diff(tc.want, s.holds(len(tc.want))), tc.reason)

			s.answers = nil
			require.Equal(t, ensure.Created, mustEnsure(t, s.e, configMap()).Operation)
			mustEnsure(t, s.e, configMap()) // the cache shows it
			s.remove(t, configMap())
			s.refuse(tc.answer)
			require.Equal(t, tc.want[:1], s.holds(1), "a success ends it")
		})
	}
}

func namespaceMissing() error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "default")
}

// What is asked otherwise is asked at once.
func TestAnotherCallIsNotBackedOff(t *testing.T) {
	forbidden := status(403, metav1.StatusReasonForbidden)
	for name, ask := range map[string]func(t *testing.T, s *troubled) error{
		"another desired state": func(t *testing.T, s *troubled) error {
			t.Helper()
			_, err := ensure.Object(t.Context(), s.e, with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" }))
			return err
		},
		"another option": func(t *testing.T, s *troubled) error {
			t.Helper()
			_, err := ensure.Object(t.Context(), s.e, configMap(), ensure.Adopt())
			return err
		},
		"another generation of the owner": func(t *testing.T, s *troubled) error {
			t.Helper()
			_, err := ensure.Object(t.Context(), s.e, configMap(), ensure.ControlledBy(ofGeneration(7)))
			require.Error(t, err)
			s.take()
			_, err = ensure.Object(t.Context(), s.e, configMap(), ensure.ControlledBy(ofGeneration(8)))
			return err
		},
		"another owner": func(t *testing.T, s *troubled) error {
			t.Helper()
			_, err := ensure.Object(t.Context(), s.e, configMap(), ensure.ControlledBy(shop()))
			return err
		},
		"a dry run": func(t *testing.T, s *troubled) error {
			t.Helper()
			_, err := ensure.Object(t.Context(), s.e, configMap(), ensure.DryRun())
			return err
		},
		"another Ensurer": func(t *testing.T, s *troubled) error {
			t.Helper()
			_, err := ensure.Object(t.Context(), ensure.New(s.cached(faithful), s, fieldOwner), configMap())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroubled(t)
			s.refuse(forbidden)
			s.pass()
			s.take()
			require.ErrorIs(t, ask(t, s), forbidden)
			require.Equal(t, []string{"create"}, writes(s.verbs()))
		})
	}
}

// A dry run that fails holds nobody up.
func TestADryRunIsNotRemembered(t *testing.T) {
	s := newTroubled(t)
	s.refuse(status(403, metav1.StatusReasonForbidden))
	require.Zero(t, s.pass(ensure.DryRun()))
	require.Zero(t, s.pass(ensure.DryRun()))
	require.Len(t, s.verbs(), 2)
	require.Equal(t, 5*time.Second, s.pass())
	require.Len(t, s.verbs(), 1)
}

// An object that somebody made, or made again, is another question.
func TestAnotherObjectIsNotBackedOff(t *testing.T) {
	s := newTroubled(t)
	s.refuse(status(403, metav1.StatusReasonForbidden))
	s.pass()
	s.answers = nil
	created(t, s.apiServer, with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" }))
	require.Equal(t, ensure.Updated, mustEnsure(t, s.e, configMap()).Operation)

	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	s.refuse(status(403, metav1.StatusReasonForbidden))
	s.pass()
	s.answers = nil
	s.remove(t, configMap())
	require.Equal(t, ensure.Created, mustEnsure(t, s.e, configMap()).Operation)
}

// A call that fails with another desired state each time is held in the end.
func TestDesiredThatDiffersEachTimeBacksOff(t *testing.T) {
	s := newTroubled(t)
	s.refuse(status(403, metav1.StatusReasonForbidden))
	for i := range 100 {
		_, err := ensure.Object(t.Context(), s.e, noted(strconv.Itoa(i)))
		require.ErrorIs(t, err, ensure.ErrAPI)
		s.wait(10 * time.Millisecond)
	}
	require.Len(t, s.verbs(), 21)
}

// An object that somebody put in order again ends the back-off.
func TestAnObjectThatIsInOrderAgain(t *testing.T) {
	s := newTroubled(t)
	mustEnsure(t, s.e, configMap())
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	s.refuse(status(403, metav1.StatusReasonForbidden))
	require.Equal(t, seconds(5, 10), s.holds(2))
	s.answers = nil
	s.edit(t, configMap(), `{"data":{"color":"`+configMap().Data["color"]+`"}}`)
	require.Equal(t, ensure.Unchanged, mustEnsure(t, s.e, configMap()).Operation)
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	s.refuse(status(403, metav1.StatusReasonForbidden))
	require.Equal(t, seconds(5), s.holds(1))
}

// Attempts at the same time count as one.
func TestConcurrentFailuresCountOnce(t *testing.T) {
	s := newTroubled(t)
	s.refuse(status(403, metav1.StatusReasonForbidden))
	var both sync.WaitGroup
	both.Add(2)
	s.before = func(string) {
		both.Done()
		both.Wait()
		s.wait(time.Second / 4)
	}
	holds := make(chan time.Duration, 2)
	var ended sync.WaitGroup
	for range 2 {
		ended.Go(func() { holds <- s.pass() })
	}
	ended.Wait()
	for range 2 {
		require.Equal(t, 5*time.Second, <-holds)
	}
}

// A shutdown is no failure.
func TestACancelledCallIsNotRemembered(t *testing.T) {
	s := newTroubled(t)
	s.answers = []error{context.Canceled}
	require.Zero(t, s.pass())
	mustEnsure(t, s.e, configMap())
}

// Absent and Prune back off by themselves, and only where requests fail.
func TestRemovalsBackOff(t *testing.T) {
	forbidden := status(403, metav1.StatusReasonForbidden)
	for name, remove := range map[string]func(ctx context.Context, e *ensure.Ensurer) error{
		"absent": func(ctx context.Context, e *ensure.Ensurer) error {
			_, err := ensure.Absent(ctx, e, configMap(), ensure.ControlledBy(shop()))
			return err
		},
		"prune": func(ctx context.Context, e *ensure.Ensurer) error {
			_, err := ensure.Set(ctx, e, shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroubled(t)
			created(t, s.apiServer, configMap(), ensure.ControlledBy(shop()))
			s.e = ensure.New(s.cached(faithful), s, fieldOwner, withClock(s.clock))
			s.refuse(forbidden)
			s.take()
			var last time.Duration
			for range 2 {
				err := remove(t.Context(), s.e)
				require.ErrorIs(t, err, forbidden)
				require.Contains(t, s.verbs(), "delete")
				var failed *ensure.Error
				require.ErrorAs(t, err, &failed)
				require.GreaterOrEqual(t, failed.After, max(5*time.Second, 2*last))
				last = failed.After

				require.ErrorIs(t, remove(t.Context(), s.e), forbidden)
				require.Empty(t, requests(s))
				s.wait(last)
			}
			s.answers = nil
			mustEnsure(t, s.e, configMap(), ensure.ControlledBy(shop()))
			require.Empty(t, s.verbs())
			require.NoError(t, remove(t.Context(), s.e))
		})
	}
}

// requests are those of a pass that lists from a cache.
func requests(s *troubled) []string {
	return slices.DeleteFunc(s.verbs(), func(verb string) bool { return verb == "list" })
}

// A prune that met an owner of which its copy was old asks again with a new copy.
func TestPruneAsksAgainForANewOwner(t *testing.T) {
	s := newTroubled(t)
	created(t, s.apiServer, configMap(), ensure.ControlledBy(shop()))
	prune := func(generation int64) error {
		owner := shop()
		owner.Generation = generation
		_, err := ensure.Set(t.Context(), s.e, owner, nil, ensure.Prune(&corev1.ConfigMap{}))
		return err
	}
	for range 4 {
		require.True(t, apierrors.IsConflict(prune(7)))
	}
	s.take()
	require.True(t, apierrors.IsConflict(prune(7)))
	require.Empty(t, requests(s))
	require.NoError(t, prune(shop().Generation))
}

// A client without a cache sends a request for each read. Those that fail back off as well.
func TestFailedReadsBackOff(t *testing.T) {
	s := newTroubled(t)
	forbidden := status(403, metav1.StatusReasonForbidden)
	reads := 0
	s.e = ensure.New(counting{failingReads(s.apiServer, forbidden), &reads}, s, fieldOwner, withClock(s.clock))
	require.Equal(t, 5*time.Second, s.pass())
	require.Equal(t, 5*time.Second, s.pass())
	require.Equal(t, 1, reads)
	s.wait(5 * time.Second)
	require.Equal(t, 10*time.Second, s.pass())
	require.Equal(t, 2, reads)
}

// counting counts reads.
type counting struct {
	client.Client

	reads *int
}

func (c counting) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	*c.reads++
	return c.Client.Get(ctx, key, obj, opts...)
}

// TestWhatTheCacheDoesNotShowIsAskedForAgain: nothing tells that it is gone.
func TestWhatTheCacheDoesNotShowIsAskedForAgain(t *testing.T) {
	s := newTroubled(t)
	s.apiServer = newServer(found(func(o *corev1.ConfigMap) {
		o.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", metav1.ManagedFieldsOperationApply)}
	}))
	s.e = ensure.New(s.cached(hidden), s, fieldOwner, withClock(s.clock))
	want := seconds(10, 20, 40, 80, 160, 180)
	require.Empty(t, cmp.Diff(want, s.holds(len(want))))

	s.remove(t, configMap())
	require.Equal(t, ensure.Created, mustEnsure(t, s.e, configMap()).Operation)
}
