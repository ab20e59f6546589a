package ensure_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

const anotherCaller = "another caller in this process"

// A caller is one place in an operator that decides about the child.
type caller func(a *arena) error

// wants is a caller that ensures desired.
func wants(desired client.Object, opts ...ensure.Option) caller {
	return func(a *arena) error {
		_, err := ensure.Object(a.t.Context(), a.e, desired, opts...)
		return err
	}
}

// wantsNone is a caller that has obj deleted.
func wantsNone(obj client.Object, opts ...ensure.AbsentOption) caller {
	return func(a *arena) error {
		_, err := ensure.Absent(a.t.Context(), a.e, obj, opts...)
		return err
	}
}

// prunes is a caller for which no ConfigMap of the owner is among the children.
func prunes(owner client.Object) caller {
	return func(a *arena) error {
		_, err := ensure.Set(a.t.Context(), a.e, owner, nil, ensure.Prune(&corev1.ConfigMap{}))
		return err
	}
}

// colored is configMap with another color.
func colored(color string) *corev1.ConfigMap {
	desired := configMap()
	desired.Data["color"] = color
	return desired
}

func coloredUnstructured(color string) *unstructured.Unstructured {
	desired := unstructuredConfigMap()
	_ = unstructured.SetNestedField(desired.Object, color, "data", "color") // fails for no map
	return desired
}

// ofGeneration is the usual owner after so many changes of its spec.
func ofGeneration(generation int64) *Shop {
	owner := shop()
	owner.Generation = generation
	return owner
}

// contestOf returns what a caller was told, nil if it was not held.
func contestOf(t *testing.T, err error) *ensure.Error {
	t.Helper()
	if err == nil {
		return nil
	}
	require.ErrorIs(t, err, ensure.ErrContested)
	contested, ok := errors.AsType[*ensure.Error](err)
	require.True(t, ok)
	return contested
}

func TestTwoCallersThatWantDifferentThingsAreAContest(t *testing.T) {
	cases := map[string]struct {
		first, second caller
		paths         []string
		texts         []string // of the first and of the second
		requests      int
	}{
		"of a typed object": {
			wants(colored("hunter2")), wants(colored("red")),
			[]string{"data[color]"},
			[]string{
				`cannot apply ConfigMap "default/settings": Contested: another caller in this process writes other values to data[color] again and ` +
					`again: two reconcilers, or two places in one reconciler, desire different states of this object: let one place decide; ` +
					`it is written at growing intervals only, until one desired state has lasted for a while`,
			},
			21,
		},
		"of an unstructured object": {
			wants(coloredUnstructured("blue")), wants(coloredUnstructured("red")), []string{"data.color"}, nil, 21,
		},
		"of a typed object and its unstructured twin": {
			wants(colored("blue")), wants(coloredUnstructured("red")), nil, nil, 21,
		},
		"of different fields": {
			wants(configMap()), wants(partialConfigMap()), nil, nil, 21,
		},
		"of what one of them adopted": {
			wants(colored("blue"), ensure.ControlledBy(shop())), wants(colored("red"), ensure.Adopt()), nil, nil, 43,
		},
		"one wants none": {
			wants(configMap()), wantsNone(configMap()),
			[]string{},
			[]string{
				`cannot create ConfigMap "default/settings": Contested: another caller in this process deletes it again and again: ` +
					`two reconcilers, or two places in one reconciler, desire different states of this object: let one place decide; ` +
					`it is written at growing intervals only, until one desired state has lasted for a while`,
				`cannot delete ConfigMap "default/settings": Contested: another caller in this process creates it again and again: ` +
					`two reconcilers, or two places in one reconciler, desire different states of this object: let one place decide; ` +
					`it is written at growing intervals only, until one desired state has lasted for a while`,
			},
			31, // a creation is followed by one read
		},
		"one prunes": {
			wants(configMap(), ensure.ControlledBy(shop())), prunes(shop()), []string{}, nil, 41, // the owner is read, too
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArena(t, faithful)
			var said [2]*ensure.Error
			for range 100 {
				for i, call := range []caller{tc.first, tc.second} {
					if contested := contestOf(t, call(a)); contested != nil {
						said[i] = contested
					}
				}
				a.wait(10 * time.Millisecond)
			}
			requests := slices.DeleteFunc(a.verbs(), func(verb string) bool { return verb == "list" }) // by the cache
			require.LessOrEqual(t, len(requests), tc.requests, requests)
			for i, contested := range said {
				require.NotNil(t, contested, i)
				require.Equal(t, anotherCaller, contested.Rival)
				require.LessOrEqual(t, contested.After, 20*time.Second)
				if tc.paths != nil {
					require.ElementsMatch(t, tc.paths, contested.Paths)
				}
				if i < len(tc.texts) {
					require.Equal(t, tc.texts[i], contested.Error())
				}
			}
		})
	}
}

// The life of a contest between two callers, by the clock.
func TestAContestBetweenCallers(t *testing.T) {
	a := newArena(t, faithful)
	blue, red := wants(colored("blue")), wants(colored("red"))
	require.Nil(t, contestOf(t, red(a)))
	for range 10 {
		require.Nil(t, contestOf(t, blue(a)))
		if contested := contestOf(t, red(a)); contested != nil {
			require.Equal(t, 10*time.Second, contested.After)
		}
	}
	require.Len(t, a.verbs(), 21, "the creation, and 20 more")
	for _, seconds := range []int{10, 20, 40, 80, 160, 300, 300} {
		require.NotNil(t, contestOf(t, blue(a)))
		require.NotNil(t, contestOf(t, red(a)), "though it is as this one wants it")
		a.wait(time.Duration(seconds)*time.Second - time.Second)
		require.NotNil(t, contestOf(t, blue(a)))
		require.Empty(t, a.verbs())
		a.wait(time.Second)
		require.NotNil(t, contestOf(t, blue(a)))
		require.Equal(t, []string{"apply"}, a.verbs())
		require.NotNil(t, contestOf(t, red(a)))
		require.Empty(t, a.verbs())
		blue, red = red, blue
	}

	// One of them gives way.
	a.wait(10*time.Minute - time.Second)
	require.NotNil(t, contestOf(t, red(a)))
	a.wait(time.Second)
	require.Nil(t, contestOf(t, red(a)))
	require.Empty(t, a.verbs())
	require.Nil(t, contestOf(t, blue(a)), "what was counted is forgotten")
	require.Equal(t, []string{"apply"}, a.verbs())
}

// A caller that comes back after hours is not told of a contest that nobody takes part in.
func TestAContestBetweenCallersThatNobodyContinuesEnds(t *testing.T) {
	a := newArena(t, faithful)
	begin := func() {
		for range 10 {
			_, _ = wants(configMap())(a), wantsNone(configMap())(a)
		}
	}
	begin()
	require.NotNil(t, contestOf(t, wants(configMap())(a)))
	a.wait(time.Hour)
	require.Nil(t, contestOf(t, wants(configMap())(a)))
	require.Equal(t, "blue", live(t, a.apiServer, configMap()).Data["color"])
}

// noted is configMap with a note that each call makes anew.
func noted(note string) *corev1.ConfigMap {
	desired := configMap()
	desired.Annotations["note"] = note
	return desired
}

func TestADesiredStateThatIsNotDeterministicIsAContest(t *testing.T) {
	a := newArena(t, faithful)
	i := 0
	call := func(owner client.Object) *ensure.Error {
		i++
		return contestOf(t, wants(noted("hunter"+strconv.Itoa(i)), ensure.ControlledBy(owner))(a))
	}
	var contested *ensure.Error
	for range 100 {
		contested = call(shop())
		a.wait(10 * time.Millisecond)
	}
	require.NotNil(t, contested)
	require.Len(t, a.verbs(), 21, "the creation, and 20 more")
	require.Equal(t, fieldOwner, contested.Rival)
	require.Equal(t, []string{"metadata.annotations[note]"}, contested.Paths)
	require.Equal(t, `cannot apply ConfigMap "default/settings": Contested: desired is not deterministic: each call has other values `+
		`in metadata.annotations[note]: leave out random values and times, and sort lists that are built from maps; `+
		`it is written at growing intervals only, until one desired state has lasted for a while`, contested.Error())

	a.wait(10 * time.Second)
	require.Equal(t, 20*time.Second, call(shop()).After)
	require.Equal(t, []string{"apply"}, a.verbs())
	require.NotNil(t, call(shop()))
	require.Nil(t, call(ofGeneration(2)), "what the user changed is done at once")
	require.Equal(t, []string{"apply"}, a.verbs())
}

// Six orders of a map are more than different callers may want.
func TestADesiredStateInTheOrderOfAMapIsAContest(t *testing.T) {
	a := newArena(t, faithful)
	var contested *ensure.Error
	for i := range 100 {
		contested = contestOf(t, wants(noted(strconv.Itoa(i%6)))(a))
	}
	require.NotNil(t, contested)
	require.Equal(t, fieldOwner, contested.Rival)
	require.Len(t, a.verbs(), 21, "the creation, and 20 more")
}

func TestADesiredStateThatChangesForAReasonIsNoContest(t *testing.T) {
	everyTenSeconds := func(a *arena, _ int) { a.wait(10 * time.Second) }
	atOnce := func(a *arena, _ int) { a.wait(10 * time.Millisecond) }
	cases := map[string]struct {
		reason string
		call   func(i int) caller
		around func(a *arena, i int)
	}{
		"another one every ten seconds": {
			"that is 12 in two minutes",
			func(i int) caller { return wants(noted(strconv.Itoa(i))) }, everyTenSeconds,
		},
		"one of two every ten seconds": {
			"each stands for a while",
			func(i int) caller { return wants(noted(strconv.Itoa(i % 2))) }, everyTenSeconds,
		},
		"there and not there every ten seconds": {
			"each stands for a while",
			func(i int) caller {
				if i%2 == 0 {
					return wants(configMap())
				}
				return wantsNone(configMap())
			}, everyTenSeconds,
		},
		"one of two, as the owner's spec says": {
			"the owner's generation moves",
			func(i int) caller {
				return wants(noted(strconv.Itoa(i%2)), ensure.ControlledBy(ofGeneration(int64(i))))
			}, atOnce,
		},
		"another one, as the owner's spec says": {
			"the owner's generation moves",
			func(i int) caller { return wants(noted(strconv.Itoa(i)), ensure.ControlledBy(ofGeneration(int64(i)))) }, atOnce,
		},
		"a burst of nineteen every two minutes": {
			"the last one of them stands",
			func(i int) caller { return wants(noted(strconv.Itoa(i))) },
			func(a *arena, i int) {
				if i%19 == 18 {
					a.wait(2 * time.Minute)
				}
			},
		},
		"a job that is run again": {
			"its deletion is short, but it stands for a while",
			func(int) caller { return wants(job()) },
			func(a *arena, _ int) {
				a.wait(10 * time.Second)
				require.NoError(a.t, wantsNone(job())(a))
			},
		},
		"a job that is recreated": {
			"that it is deleted is no desired state",
			func(i int) caller {
				desired := job()
				desired.Spec.Template.Spec.Containers[0].Image = "nginx:" + strconv.Itoa(i)
				return wants(desired, ensure.Recreate(metav1.DeletePropagationBackground))
			},
			everyTenSeconds,
		},
		"dry runs": {
			"they write nothing",
			func(i int) caller { return wants(noted(strconv.Itoa(i)), ensure.DryRun()) }, atOnce,
		},
		"one that the server refuses": {
			"nothing is written",
			func(i int) caller {
				return func(a *arena) error {
					a.answers = []error{errors.New("no route")}
					require.ErrorIs(a.t, wants(noted(strconv.Itoa(i)))(a), ensure.ErrAPI)
					return nil
				}
			}, atOnce,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArena(t, faithful)
			require.NoError(t, wants(configMap(), ensure.ControlledBy(shop()))(a))
			a.remove(t, configMap())
			for i := range 60 {
				require.NoError(t, tc.call(i)(a), "%s: %d", tc.reason, i)
				tc.around(a, i)
			}
		})
	}
}

// An owner that is being deleted wants nothing again: its finalizer is not held up.
func TestAContestDoesNotHoldUpAFinalizer(t *testing.T) {
	a := newArena(t, faithful)
	owner := shop()
	owner.Generation = 0 // as that of a ConfigMap
	for range 20 {
		_, _ = wants(configMap(), ensure.ControlledBy(owner))(a), wantsNone(configMap(), ensure.ControlledBy(owner))(a)
	}
	a.wait(10 * time.Second)
	require.NotNil(t, contestOf(t, wants(configMap(), ensure.ControlledBy(owner))(a)))
	require.NotNil(t, contestOf(t, wantsNone(configMap(), ensure.ControlledBy(owner))(a)))
	owner.DeletionTimestamp = &metav1.Time{Time: a.clock.Now()}
	require.Nil(t, contestOf(t, wantsNone(configMap(), ensure.ControlledBy(owner))(a)))
}

func job() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "import"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "import", Image: "nginx:1"}},
		}}},
	}
}

// An owner's child, and fields that another part of the operator applies to it for nobody.
func TestCallersForDifferentOwnersAreAContest(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	blue := with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "blue" })
	var err error
	for range 20 {
		if _, err = ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(shop())); err != nil {
			break
		}
		if _, err = ensure.Object(t.Context(), e, blue, ensure.Adopt()); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, ensure.ErrContested)
	require.ErrorContains(t, err, "another caller in this process")
}
