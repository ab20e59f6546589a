package ensure_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trueup-go/trueup/ensure"
)

// An arena is a server with an operator behind a faithful cache, and a clock.
type arena struct {
	*apiServer

	t     *testing.T
	clock *clocktesting.FakePassiveClock
	e     *ensure.Ensurer
	said  *ensure.Error // by the last contest
}

func newArena(t *testing.T, show view, settings ...ensure.Setting) *arena {
	t.Helper()
	a := &arena{apiServer: newServer(), t: t, clock: newClock()}
	a.e = ensure.New(a.cached(show), a, fieldOwner, append(settings, withClock(a.clock))...)
	return a
}

func (a *arena) wait(d time.Duration) { a.clock.SetTime(a.clock.Now().Add(d)) }

// pass returns what a pass did, which is nothing if it was refused.
func (a *arena) pass(desired client.Object) (ensure.Operation, *ensure.Error) {
	a.t.Helper()
	result, err := ensure.Object(a.t.Context(), a.e, desired)
	if err == nil {
		return result.Operation, nil
	}
	require.ErrorIs(a.t, err, ensure.ErrContested)
	var contested *ensure.Error
	require.ErrorAs(a.t, err, &contested)
	require.Empty(a.t, result)
	return "", contested
}

// requireContested is a pass that says so and sends what is wanted.
func (a *arena) requireContested(desired client.Object, after time.Duration, verbs ...string) {
	a.t.Helper()
	operation, contested := a.pass(desired)
	require.NotNil(a.t, contested, operation)
	require.Equal(a.t, after, contested.After)
	require.Empty(a.t, cmp.Diff(append([]string{}, verbs...), a.verbs()))
	a.said = contested
}

// requireNone is a pass that knows of no contest.
func (a *arena) requireNone(desired client.Object, want ensure.Operation) {
	a.t.Helper()
	operation, contested := a.pass(desired)
	require.Nil(a.t, contested)
	require.Equal(a.t, want, operation)
}

// begin has undo undone until it is a contest.
func (a *arena) begin(desired client.Object, undo func()) {
	a.t.Helper()
	mustEnsure(a.t, a.e, desired)
	for range 4 {
		undo()
		operation, contested := a.pass(desired)
		require.Nil(a.t, contested)
		require.NotEqual(a.t, ensure.Unchanged, operation)
	}
	undo()
	a.take()
	_, contested := a.pass(desired)
	require.NotNil(a.t, contested)
	a.said = contested
}

// paint reverts the color of configMap.
func (a *arena) paint() { a.edit(a.t, configMap(), `{"data":{"color":"hunter2"}}`) }

func TestAContestBeginsWithTheFifthUndoing(t *testing.T) {
	cases := map[string]struct {
		desired client.Object
		undo    func(*arena)
		paths   []string
		rival   string
		verbs   []string
	}{
		"a value": {
			configMap(), (*arena).paint,
			[]string{"data[color]"},
			"kubectl-edit",
			[]string{"apply"},
		},
		"two values": {
			configMap(),
			func(a *arena) { a.edit(t, configMap(), `{"data":{"shape":"square","color":"red"}}`) },
			[]string{"data[color]", "data[shape]"},
			"kubectl-edit",
			[]string{"apply"},
		},
		"a value and the digest": {
			configMap(),
			func(a *arena) {
				a.edit(t, configMap(), `{"metadata":{"annotations":{"`+digestKey+`":"v1-0"}},"data":{"color":"red"}}`)
			},
			[]string{"data[color]"},
			"kubectl-edit",
			[]string{"apply"},
		},
		"the digest alone": {
			configMap(),
			func(a *arena) { a.edit(t, configMap(), `{"metadata":{"annotations":{"`+digestKey+`":"v1-0"}}}`) },
			[]string{digestPath},
			"kubectl-edit",
			[]string{"apply"},
		},
		"a label of ours": {
			configMap(),
			func(a *arena) { a.edit(t, configMap(), `{"metadata":{"labels":{"app":"mine"}}}`) },
			[]string{"metadata.labels[app]"},
			"kubectl-edit",
			[]string{"apply"},
		},
		"a removal, by one that writes nothing else": {
			configMap(),
			func(a *arena) { a.edit(t, configMap(), `{"data":{"color":null}}`) },
			[]string{"data[color]"},
			"",
			[]string{"apply"},
		},
		"a removal, by one that writes something else": {
			configMap(),
			func(a *arena) {
				note := strconv.Itoa(int(live(t, a.apiServer, configMap()).Generation)) + a.clock.Now().String()
				a.edit(t, configMap(), `{"metadata":{"annotations":{"stranger":"`+note+`"}},"data":{"color":null}}`)
			},
			[]string{"data[color]"},
			"kubectl-edit",
			[]string{"apply"},
		},
		"the child": {
			configMap(),
			func(a *arena) { a.remove(t, configMap()) },
			[]string{},
			"",
			[]string{"get", "create"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArena(t, faithful)
			a.begin(tc.desired, func() { a.wait(time.Second); tc.undo(a) })
			contested := a.said
			require.Empty(t, cmp.Diff(tc.paths, contested.Paths))
			require.Equal(t, tc.rival, contested.Rival)
			require.Equal(t, 10*time.Second, contested.After)
			require.Equal(t, "Contested", contested.Reason)
			require.Empty(t, cmp.Diff(tc.verbs, a.verbs()), "the fifth time it is put right, too")
			a.requireContested(tc.desired, 20*time.Second)
		})
	}
}

func TestWhatIsNoContest(t *testing.T) {
	cases := map[string]struct {
		reason  string
		desired client.Object
		around  func(a *arena, i int) // before each pass
	}{
		"status": {
			"a status is not written by us", &Shop{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}},
			func(a *arena, i int) {
				s := &Shop{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
				patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"open":%t}}`, i%2 == 0))
				require.NoError(a.t, a.commit(a.t.Context(), s, func() error { return a.fake.Status().Patch(a.t.Context(), s, patch) }))
			},
		},
		"another's label": {
			"it is put back by nobody", configMap(),
			func(a *arena, i int) {
				a.edit(a.t, configMap(), `{"metadata":{"labels":{"theirs":"`+strconv.Itoa(i)+`"}}}`)
			},
		},
		"another's field": {
			"the server is asked, and changes nothing", configMap(),
			func(a *arena, i int) { a.edit(a.t, configMap(), `{"data":{"theirs":"`+strconv.Itoa(i)+`"}}`) },
		},
		"another's field, also between our read and our apply": {
			"it is changed, but not by us", deployment(),
			func(a *arena, i int) {
				scale := func(to int) { a.edit(a.t, deployment(), `{"spec":{"replicas":`+strconv.Itoa(to)+`}}`) }
				scale(2*i + 1)
				a.before = func(verb string) {
					if verb == "apply" {
						scale(2*i + 2)
					}
				}
			},
		},
		"undone too seldom": {
			"4 times in any two minutes", configMap(),
			func(a *arena, _ int) { a.paint(); a.wait(30 * time.Second) },
		},
		"restarts": {
			"a new process remembers nothing", configMap(),
			func(a *arena, _ int) {
				a.paint()
				a.e = ensure.New(a.cached(faithful), a, fieldOwner, withClock(a.clock))
			},
		},
		"deleted by ourselves": {
			"nobody else did", configMap(),
			func(a *arena, _ int) {
				a.wait(10 * time.Second)
				result, err := ensure.Absent(a.t.Context(), a.e, configMap())
				require.NoError(a.t, err)
				require.Equal(a.t, ensure.Deleting, result.Operation)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArena(t, faithful)
			mustEnsure(t, a.e, tc.desired)
			for i := range 8 {
				tc.around(a, i)
				_, contested := a.pass(tc.desired)
				require.Nil(t, contested, tc.reason)
				a.before = nil
			}
		})
	}
}

func TestAWebhookIsNoRival(t *testing.T) {
	a := newArena(t, faithful)
	a.admit = func(body map[string]any) {
		data, _ := body["data"].(map[string]any)
		data["color"] = "green"
	}
	a.requireNone(configMap(), ensure.Created)
	for i := range 8 {
		a.edit(t, configMap(), `{"metadata":{"annotations":{"theirs":"`+strconv.Itoa(i)+`"}},"data":{"theirs":"`+strconv.Itoa(i)+`"}}`)
		a.requireNone(configMap(), ensure.Unchanged)
	}
}

// A cache that lags shows what was undone again and again, and each copy is older than our
// last write.
func TestAStaleCopyIsNoRival(t *testing.T) {
	show := view(faithful)
	a := newArena(t, func(live client.Object) client.Object { return show(live) })
	mustEnsure(t, a.e, configMap())
	a.paint()
	undone := live(t, a.apiServer, configMap())
	a.requireNone(configMap(), ensure.Updated)
	show = frozen(undone)
	for range 8 {
		a.requireNone(configMap(), ensure.Unchanged)
		a.wait(130 * time.Second) // so old that the server is asked
	}
}

// The life of a contest, by the clock.
func TestAContest(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	first := a.said
	require.Equal(t, "blue", live(t, a.apiServer, configMap()).Data["color"], "our last word")
	require.Equal(t, []string{"apply"}, a.verbs())

	a.paint()
	for _, seconds := range []int{10, 20, 40, 80, 160, 300, 300} {
		hold := time.Duration(seconds) * time.Second
		a.requireContested(configMap(), hold)
		a.wait(hold - time.Second)
		a.requireContested(configMap(), time.Second)
		again := a.said
		require.Equal(t, first.Error(), again.Error(), "conditions hold it")
		a.wait(time.Second)
		a.requireContested(configMap(), min(2*hold, 5*time.Minute), "apply")
		a.paint()
	}

	// The rival stops.
	a.wait(5 * time.Minute)
	a.requireContested(configMap(), 5*time.Minute, "apply")
	a.requireContested(configMap(), 10*time.Minute)
	a.wait(10*time.Minute - time.Second)
	a.requireContested(configMap(), time.Second)
	a.wait(time.Second)
	a.requireNone(configMap(), ensure.Unchanged)
	require.Empty(t, a.verbs())

	a.paint()
	a.requireNone(configMap(), ensure.Updated)
}

// Who only touches something else is asked about at the same intervals, and prolongs nothing.
func TestAQuestionDoesNotProlongAContest(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	a.take()
	a.edit(t, configMap(), `{"data":{"theirs":"1"}}`)
	a.requireContested(configMap(), 10*time.Second)
	a.wait(10 * time.Second)
	a.requireContested(configMap(), 10*time.Second, "apply")
	a.edit(t, configMap(), `{"data":{"theirs":"2"}}`)
	a.wait(9 * time.Second)
	a.requireContested(configMap(), time.Second)
	a.wait(time.Second)
	a.requireNone(configMap(), ensure.Unchanged)
	require.Equal(t, []string{"apply"}, a.verbs(), "what was left to ask, and our last write has stood for long enough")
}

// A contest rests with another desired state, and goes on with the next revert.
func TestAContestRestsWithAChangeOfDesired(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	a.paint()
	red := configMap()
	red.Data["color"] = "red"
	a.requireNone(red, ensure.Updated)
	a.requireNone(red, ensure.Unchanged)
	a.requireNone(configMap(), ensure.Updated)
	a.take()
	a.paint()
	a.requireContested(configMap(), 20*time.Second, "apply")
}

func TestNoLongerWantingTheChildEndsAContest(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), func() { a.remove(t, configMap()) })
	_, err := ensure.Absent(t.Context(), a.e, configMap())
	require.NoError(t, err)
	a.requireNone(configMap(), ensure.Created)
}

func TestAContestOverDeletion(t *testing.T) {
	a := newArena(t, faithful)
	remove := func() { a.remove(t, configMap()) }
	a.begin(configMap(), remove)
	first := a.said
	require.Equal(t, `cannot create ConfigMap "default/settings": Contested: an unknown field manager deletes it `+
		`again and again: stop it, or stop ensuring this object; it is created again at growing intervals only, until a write has lasted for a while`,
		first.Error())
	a.take()
	remove()
	for _, hold := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		a.requireContested(configMap(), hold)
		a.wait(hold)
		a.requireContested(configMap(), 2*hold, "get", "create") // it has not seen that one yet
		again := a.said
		require.Equal(t, first.Error(), again.Error())
		remove()
	}
}

// Right after a create that the cache does not show yet, the server is not asked either.
func TestAHeldChildThatIsNotThereCostsNothing(t *testing.T) {
	show := view(faithful)
	a := newArena(t, func(live client.Object) client.Object { return show(live) })
	a.begin(configMap(), func() { a.remove(t, configMap()) })
	a.take()
	show = hidden
	a.requireContested(configMap(), 10*time.Second)
	a.wait(10 * time.Second)
	a.requireContested(configMap(), 10*time.Second, "get")
}

// A try is one also if the object moved meanwhile.
func TestATryThatMeetsAnotherObjectGoesOn(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	a.paint()
	a.wait(10 * time.Second)
	a.take()
	a.before = func(verb string) {
		if verb == "apply" {
			a.remove(t, configMap())
		}
	}
	a.requireContested(configMap(), 20*time.Second, "apply", "get", "create")
	contested := a.said
	require.Equal(t, []string{"data[color]"}, contested.Paths)
}

func TestAFailedTryIsOne(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	a.paint()
	a.wait(10 * time.Second)
	a.take()
	a.answers = []error{errors.New("no route")}
	_, err := ensure.Object(t.Context(), a.e, configMap())
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.Equal(t, []string{"apply"}, a.verbs())
	a.requireContested(configMap(), 10*time.Second)
}

// A copy from before our last write says nothing about whether it stood.
func TestAStaleCopyEndsNoContest(t *testing.T) {
	show := view(faithful)
	a := newArena(t, func(live client.Object) client.Object { return show(live) })
	mustEnsure(t, a.e, configMap())
	a.begin(configMap(), a.paint)
	a.take()
	show = frozen(func() client.Object {
		old := live(t, a.apiServer, configMap())
		old.ResourceVersion = "1"
		return old
	}())
	a.requireContested(configMap(), 20*time.Second)
	a.wait(30 * time.Second)
	a.requireContested(configMap(), time.Second)
}

func TestTwoInstancesAreAContest(t *testing.T) {
	a := newArena(t, faithful)
	other := ensure.New(a.cached(faithful), a, fieldOwner, withClock(a.clock))
	red := configMap()
	red.Data["color"] = "red"
	var contested []*ensure.Error
	for range 20 {
		if _, err := a.pass(configMap()); err != nil {
			contested = append(contested, err)
		}
		if _, err := ensure.Object(t.Context(), other, red); err != nil {
			var e *ensure.Error
			require.ErrorAs(t, err, &e)
			contested = append(contested, e)
		}
		a.wait(time.Second)
	}
	require.NotEmpty(t, contested)
	for _, err := range contested {
		require.ErrorIs(t, err, ensure.ErrContested)
		require.Equal(t, "another instance of shop-operator", err.Rival)
		require.Equal(t, []string{"data[color]"}, err.Paths, "the digest is theirs to differ in")
	}
	require.LessOrEqual(t, len(a.verbs()), 14, "of each instance the first, five undoings, and one try")
}

func TestTheRivalIsAskedForOnceWhereManagedFieldsAreStripped(t *testing.T) {
	a := newArena(t, withoutManagedFields)
	a.begin(configMap(), a.paint)
	contested := a.said
	require.Equal(t, "kubectl-edit", contested.Rival)
	require.Equal(t, []string{"get", "apply"}, a.verbs())
	a.paint()
	a.wait(10 * time.Second)
	a.requireContested(configMap(), 20*time.Second, "apply")
}

func TestTheTextOfAContestHoldsNoValues(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	contested := a.said
	require.Equal(t, `cannot apply ConfigMap "default/settings": Contested: kubectl-edit reverts data[color] again and again: `+
		`stop one of the two; `+
		`it is written again at growing intervals only, until a write has lasted for a while`, contested.Error())
	require.NotContains(t, contested.Error(), "hunter2")
	require.NotContains(t, contested.Error(), "blue")
}

func TestPathsOfAContestAreBounded(t *testing.T) {
	a := newArena(t, faithful)
	desired := configMap()
	undone := `{"data":{"color":"red"`
	for i := range 200 {
		key := fmt.Sprintf("key%03d", i)
		desired.Data[key] = "ours"
		undone += `,"` + key + `":"theirs"`
	}
	a.begin(desired, func() { a.edit(t, desired, undone+"}}") })
	contested := a.said
	require.Len(t, contested.Paths, 64)
	require.IsIncreasing(t, contested.Paths)
}

// TestBareFakeClientRemembersNothing: without UIDs, there is no record of a child. Drift is reverted, and a contest goes unnoticed.
func TestBareFakeClientRemembersNothing(t *testing.T) {
	c := bareFake()
	e := ensure.New(c, c, fieldOwner)
	mustEnsure(t, e, configMap())
	for range 10 {
		found := mustEnsure(t, e, configMap())
		require.Equal(t, ensure.Unchanged, found.Operation)
		found.Live.Data["color"] = "red"
		require.NoError(t, c.Update(t.Context(), found.Live))
		require.Equal(t, ensure.Drifted, mustEnsure(t, e, configMap()).Cause)
	}
}

func TestContestsAreCounted(t *testing.T) {
	count := func() float64 {
		families, err := metrics.Registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if family.GetName() == "trueup_ensure_contests_total" && metric.GetLabel()[1].GetValue() == "Deployment" {
					require.Equal(t, "apps", metric.GetLabel()[0].GetValue())
					return metric.GetCounter().GetValue()
				}
			}
		}
		return 0
	}
	before := count()
	a := newArena(t, faithful)
	desired := deployment()
	desired.Spec.Replicas = new(int32(2))
	scale := func() { a.edit(t, desired, `{"spec":{"replicas":9}}`) }
	a.begin(desired, scale)
	scale()
	a.wait(10 * time.Second)
	a.requireContested(desired, 20*time.Second, "apply", "apply")
	require.InDelta(t, 1, count()-before, 0, "once, when it begins")
}

// Reconciles of several owners may come at the same time.
func TestAContestOfMany(t *testing.T) {
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	a.paint()
	a.take()
	a.wait(10 * time.Second)
	var passes sync.WaitGroup
	for range 8 {
		passes.Go(func() {
			_, err := ensure.Object(t.Context(), a.e, configMap())
			if !errors.Is(err, ensure.ErrContested) {
				t.Errorf("got %v", err)
			}
		})
	}
	passes.Wait()
	require.Equal(t, []string{"apply"}, a.verbs(), "one has the try")
}
