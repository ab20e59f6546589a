package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/internal/consistency"
)

func TestAdd(t *testing.T) {
	cases := map[string]struct {
		why   string
		has   []string
		steps []finalizer.Step
		patch string // empty: nothing is sent
		want  []string
	}{
		"none there": {
			"both come in one request", nil, steps(row, bucket),
			`[{"op":"test","path":"/metadata/uid","value":"uid-of-site"},{"op":"test","path":"/metadata/finalizers","value":null},` +
				`{"op":"add","path":"/metadata/finalizers","value":["example.com/row","example.com/bucket"]}]`,
			[]string{row, bucket},
		},
		"some there": {
			"others' entries stay, and so does the order",
			[]string{bucket, foreign},
			steps(row, bucket),
			`[{"op":"test","path":"/metadata/uid","value":"uid-of-site"},` +
				`{"op":"test","path":"/metadata/finalizers","value":["example.com/bucket","elsewhere.org/theirs"]},` +
				`{"op":"add","path":"/metadata/finalizers","value":["example.com/bucket","elsewhere.org/theirs","example.com/row"]}]`,
			[]string{bucket, foreign, row},
		},
		"all there":  {"nothing is to do", []string{row, foreign, bucket}, steps(bucket, row), "", []string{row, foreign, bucket}},
		"no steps":   {"nothing is to do", []string{foreign}, nil, "", []string{foreign}},
		"no slash":   {"for custom kinds that is a name", []string{"row"}, steps("row"), "", []string{"row"}},
		"odd letter": {"upper case is fine behind the slash", []string{"example.com/Row_1"}, steps("example.com/Row_1"), "", []string{"example.com/Row_1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(site(tc.has...))
			obj := read(t, s, site())
			result, err := finalizer.Handle(t.Context(), s, obj, tc.steps...)
			require.NoError(t, err)
			require.Zero(t, result)
			require.Equal(t, tc.want, obj.Finalizers, tc.why)
			require.Empty(t, cmp.Diff(read(t, s, site()), obj), "obj is what the server has")
			if tc.patch == "" {
				require.Empty(t, s.patches, tc.why)
				return
			}
			require.Equal(t, []string{tc.patch}, s.patches, tc.why)

			result, err = finalizer.Handle(t.Context(), s, obj, tc.steps...)
			require.NoError(t, err)
			require.Zero(t, result)
			require.Len(t, s.patches, 1, "the second time nothing is to do")
		})
	}
}

// What others change elsewhere is no conflict, and obj shows it afterwards: removals, too.
func TestAddBesideOtherWriters(t *testing.T) {
	s := newServer(site(foreign))
	obj := read(t, s, site())
	s.before = func() { s.edit(t, obj, `{"metadata":{"labels":null},"data":{"host":null,"path":"/"}}`) }
	_, err := finalizer.Handle(t.Context(), s, obj, steps(row)...)
	require.NoError(t, err)
	require.Equal(t, []string{foreign, row}, obj.Finalizers)
	require.Equal(t, map[string]string{"path": "/"}, obj.Data)
	require.Empty(t, obj.Labels)
	require.Empty(t, cmp.Diff(read(t, s, site()), obj))
}

// A cache may hand out its own maps and slices.
func TestWhatObjSharesIsNotTouched(t *testing.T) {
	s := newServer(site(foreign))
	cached := read(t, s, site())
	cached.Finalizers = append(make([]string, 0, 10), cached.Finalizers...)
	before := cached.DeepCopy()
	obj := *cached // shallow
	_, err := finalizer.Handle(t.Context(), s, &obj, steps(row, bucket)...)
	require.NoError(t, err)
	require.Equal(t, []string{foreign, row, bucket}, obj.Finalizers)
	require.Empty(t, cmp.Diff(before, cached))
	require.Equal(t, []string{foreign, "", ""}, cached.Finalizers[:3])
}

// An empty list is none: the server has no member that a test could find.
func TestEmptyList(t *testing.T) {
	s := newServer(site())
	obj := read(t, s, site())
	obj.Finalizers = []string{}
	_, err := finalizer.Handle(t.Context(), s, obj, steps(row)...)
	require.NoError(t, err)
	require.Equal(t, []string{row}, obj.Finalizers)
}

func TestWithoutUID(t *testing.T) {
	bare := site()
	bare.UID = ""
	s := newServer(bare)
	_, err := finalizer.Handle(t.Context(), s, read(t, s, bare), steps(row)...)
	require.NoError(t, err)
	require.Equal(t, []string{`[{"op":"test","path":"/metadata/finalizers","value":null},` +
		`{"op":"add","path":"/metadata/finalizers","value":["example.com/row"]}]`}, s.patches)
}

func TestUntypedObjects(t *testing.T) {
	dynamic := &unstructured.Unstructured{}
	dynamic.SetAPIVersion("v1")
	dynamic.SetKind("ConfigMap")
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	for name, obj := range map[string]client.Object{"unstructured": dynamic, "metadata only": partial} {
		t.Run(name, func(t *testing.T) {
			s := newServer(site(foreign))
			gvk := obj.GetObjectKind().GroupVersionKind()
			obj.SetNamespace("default")
			obj.SetName("site")
			obj = read(t, s, obj)
			_, err := finalizer.Handle(t.Context(), s, obj, steps(row)...)
			require.NoError(t, err)
			require.Equal(t, []string{foreign, row}, obj.GetFinalizers())
			require.Equal(t, gvk, obj.GetObjectKind().GroupVersionKind())
			require.Empty(t, cmp.Diff(read(t, s, obj), obj))
			require.Equal(t, name == "unstructured" && consistency.IsSupported(), consistency.IsOff(&s.options[0]),
				"controller-runtime books them under the wrong representation")

			require.NoError(t, s.Delete(t.Context(), read(t, s, site())))
			obj = read(t, s, obj)
			result, err := finalizer.Handle(t.Context(), s, obj, steps(row)...)
			require.NoError(t, err)
			require.True(t, result.Done)
			require.Equal(t, []string{foreign}, obj.GetFinalizers())
		})
	}
}

func TestCleanUp(t *testing.T) {
	broken := errors.New("the database is away")
	removal := func(has, rest string) string {
		return `[{"op":"test","path":"/metadata/uid","value":"uid-of-site"},{"op":"test","path":"/metadata/finalizers","value":[` + has + `]},` +
			`{"op":"add","path":"/metadata/finalizers","value":[` + rest + `]}]`
	}
	const quotedRow, quotedBucket, quotedForeign = `"` + row + `"`, `"` + bucket + `"`, `"` + foreign + `"`
	cases := map[string]struct {
		why        string
		has        []string
		row        []error // of the first step's Cleanup
		ran        []string
		patches    []string
		left       []string
		after      time.Duration
		reasonText string
		err        error
	}{
		"both": {
			"in the steps' order, not the list's, each removed by itself",
			[]string{bucket, foreign, row},
			nil,
			[]string{row, bucket},
			[]string{
				removal(quotedBucket+","+quotedForeign+","+quotedRow, quotedBucket+","+quotedForeign),
				removal(quotedBucket+","+quotedForeign, quotedForeign),
			},
			[]string{foreign},
			0, "", nil,
		},
		"the last ones": {
			"the object goes with them",
			[]string{row, bucket},
			nil,
			[]string{row, bucket},
			[]string{removal(quotedRow+","+quotedBucket, quotedBucket), removal(quotedBucket, "")},
			nil, 0, "", nil,
		},
		"one absent": {
			"what it stands for is cleaned up, or was never made",
			[]string{bucket, foreign},
			nil,
			[]string{bucket},
			[]string{removal(quotedBucket+","+quotedForeign, quotedForeign)},
			[]string{foreign},
			0, "", nil,
		},
		"none there": {
			"never added to an object that is going",
			[]string{foreign},
			nil, nil, nil,
			[]string{foreign},
			0, "", nil,
		},
		"failure": {
			"the steps behind it have to wait",
			[]string{row, bucket},
			[]error{broken},
			[]string{row},
			nil,
			[]string{row, bucket},
			0, "", broken,
		},
		"wait": {
			"not an error",
			[]string{row, bucket},
			[]error{finalizer.NotDone(time.Minute, "in use")},
			[]string{row},
			nil,
			[]string{row, bucket},
			time.Minute, "in use", nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(goingSite(tc.has...))
			obj := read(t, s, site())
			j := &journal{}
			result, err := finalizer.Handle(t.Context(), s, obj, j.step(row, tc.row...), j.step(bucket))
			require.ErrorIs(t, err, tc.err, tc.why)
			require.Empty(t, cmp.Diff(finalizer.Result{Done: true, After: tc.after, Reason: tc.reasonText}, result))
			require.Equal(t, tc.ran, j.ran, tc.why)
			require.Equal(t, tc.patches, s.patches, tc.why)
			require.ElementsMatch(t, tc.left, obj.Finalizers)
			if len(tc.left) == 0 {
				require.True(t, apierrors.IsNotFound(s.Get(t.Context(), client.ObjectKeyFromObject(obj), site())))
				return
			}
			require.Empty(t, cmp.Diff(read(t, s, site()), obj))
		})
	}
}

func TestCleanUpWithoutSteps(t *testing.T) {
	s := newServer(goingSite(foreign))
	result, err := finalizer.Handle(t.Context(), s, read(t, s, site()))
	require.NoError(t, err)
	require.Equal(t, finalizer.Result{Done: true}, result)
	require.Empty(t, s.patches)
}

// A name that is listed twice is one finalizer.
func TestRepeatedEntriesGoTogether(t *testing.T) {
	s := newServer(goingSite(row, foreign, row))
	obj := read(t, s, site())
	_, err := finalizer.Handle(t.Context(), s, obj, steps(row)...)
	require.NoError(t, err)
	require.Equal(t, []string{foreign}, obj.Finalizers)
}

func TestCleanupErrorIsWrappedAndNamed(t *testing.T) {
	s := newServer(goingSite(row))
	broken := apierrors.NewNotFound(corev1.Resource("databases"), "site")
	_, err := finalizer.Handle(t.Context(), s, read(t, s, site()), (&journal{}).step(row, broken))
	require.EqualError(t, err,
		`cannot clean up for finalizer "example.com/row" of ConfigMap "default/site": databases "site" not found`)
	require.ErrorIs(t, err, broken)
	require.True(t, apierrors.IsNotFound(err), "a Cleanup's NotFound is not the object's")
	require.Equal(t, []string{row}, read(t, s, site()).Finalizers)
}

// The process ends between a Cleanup and the removal: both are done again.
func TestCleanupRunsAgain(t *testing.T) {
	s := newServer(goingSite(row, foreign))
	s.answers = []error{context.Canceled}
	j := &journal{}
	for range 2 {
		obj := read(t, s, site())
		result, err := finalizer.Handle(t.Context(), s, obj, j.step(row))
		require.True(t, result.Done)
		if len(j.ran) == 1 {
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, []string{row, foreign}, obj.Finalizers, "obj stays as it was")
			continue
		}
		require.NoError(t, err)
	}
	require.Equal(t, []string{row, row}, j.ran)
	require.Equal(t, []string{foreign}, read(t, s, site()).Finalizers)
}

// A Cleanup that changes obj, even to another object, cannot have the wrong thing removed.
func TestCleanupThatChangesObj(t *testing.T) {
	cases := map[string]struct {
		why     string
		cleanup func(t *testing.T, s *server, obj *corev1.ConfigMap)
		left    []string
	}{
		"writes its status": {
			"that moves nothing of ours",
			func(t *testing.T, s *server, obj *corev1.ConfigMap) {
				t.Helper()
				obj.Data["phase"] = "cleaning up"
				require.NoError(t, s.Update(t.Context(), obj))
			},
			[]string{foreign},
		},
		"takes the finalizer off obj": {
			"the server still has it",
			func(_ *testing.T, _ *server, obj *corev1.ConfigMap) { obj.Finalizers = nil },
			[]string{foreign},
		},
		"reads another object into it": {
			"the patch is about the one that was read",
			func(_ *testing.T, _ *server, obj *corev1.ConfigMap) { obj.UID, obj.DeletionTimestamp = "another", nil },
			[]string{foreign},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(goingSite(row, foreign))
			obj := read(t, s, site())
			_, err := finalizer.Handle(t.Context(), s, obj, finalizer.Step{Name: row, Cleanup: func(context.Context) error {
				tc.cleanup(t, s, obj)
				return nil
			}})
			require.NoError(t, err)
			require.Equal(t, tc.left, read(t, s, site()).Finalizers, tc.why)
			require.Empty(t, cmp.Diff(read(t, s, site()), obj))
		})
	}
}

// A stale cached object must not lead to anything that nobody would clean up.
func TestGone(t *testing.T) {
	t.Run("while adding", func(t *testing.T) {
		s := newServer()
		obj := site(foreign)
		result, err := finalizer.Handle(t.Context(), s, obj, steps(row)...)
		require.NoError(t, err)
		require.Equal(t, finalizer.Result{Done: true}, result)
		require.Equal(t, site(foreign), obj)
	})
	t.Run("while removing", func(t *testing.T) {
		j := &journal{}
		result, err := finalizer.Handle(t.Context(), newServer(), goingSite(row, bucket), j.step(row), j.step(bucket))
		require.NoError(t, err)
		require.Equal(t, finalizer.Result{Done: true}, result)
		require.Equal(t, []string{row}, j.ran, "the object's other finalizers are gone as well")
	})
}

// What follows Handle relies on the finalizers.
func TestWebhookThatLeavesTheFinalizerOut(t *testing.T) {
	s := newServer(site(foreign))
	dropping := &changed{server: s, answer: func(obj client.Object) { obj.SetFinalizers([]string{foreign}) }}
	_, err := finalizer.Handle(t.Context(), dropping, read(t, s, site()), steps(row, foreign)...)
	require.EqualError(t, err, `cannot add finalizer "example.com/row" to ConfigMap "default/site": `+
		`the API server did not store it: look for a webhook that removes it`)
}

// changed is a server whose answers are changed on their way.
type changed struct {
	*server

	answer func(client.Object)
}

func (c *changed) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	defer c.answer(obj)
	return c.server.Patch(ctx, obj, patch, opts...)
}

func TestNotDone(t *testing.T) {
	broken := errors.New("broken")
	cases := map[string]struct {
		why    string
		err    error
		after  time.Duration // 0: it is an error
		reason string
	}{
		"plain":          {"as it was said", finalizer.NotDone(time.Minute, "in use"), time.Minute, "in use"},
		"wrapped":        {"in all its words", fmt.Errorf("database: %w", finalizer.NotDone(time.Second, "in use")), time.Second, "database: in use"},
		"no time":        {"soon", finalizer.NotDone(0, "in use"), 5 * time.Second, "in use"},
		"negative time":  {"a deadline that passed", finalizer.NotDone(-time.Hour, "in use"), 5 * time.Second, "in use"},
		"no reason":      {"a condition needs a text", finalizer.NotDone(time.Second, ""), time.Second, "the cleanup is not done yet"},
		"joined waits":   {"the soonest", errors.Join(finalizer.NotDone(time.Hour, "a"), finalizer.NotDone(time.Minute, "b"), finalizer.NotDone(time.Hour, "c")), time.Minute, "a\nb\nc"},
		"wrapped joined": {"likewise", fmt.Errorf("both: %w", errors.Join(finalizer.NotDone(time.Minute, "a"))), time.Minute, "both: a"},
		"joined error":   {"nothing swallows an error", errors.Join(finalizer.NotDone(time.Minute, "a"), broken), 0, ""},
		"two verbs":      {"nor here", fmt.Errorf("%w and %w", finalizer.NotDone(time.Minute, "a"), broken), 0, ""},
		"nothing joined": {"not of NotDone", nothing{}, 0, ""},
		"another error":  {"not of NotDone", broken, 0, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(goingSite(row))
			result, err := finalizer.Handle(t.Context(), s, read(t, s, site()), (&journal{}).step(row, tc.err))
			require.Empty(t, s.patches, "the finalizer stays")
			if tc.after == 0 {
				require.ErrorIs(t, err, tc.err, tc.why)
				require.Equal(t, finalizer.Result{Done: true}, result)
				return
			}
			require.NoError(t, err, tc.why)
			require.Equal(t, finalizer.Result{Done: true, After: tc.after, Reason: tc.reason}, result, tc.why)
		})
	}
}

// nothing is an error that joins none.
type nothing struct{}

func (nothing) Error() string   { return "nothing" }
func (nothing) Unwrap() []error { return nil }

// The page says how the fake client differs.
func TestFakeClientAsThePageSays(t *testing.T) {
	s := newServer(goingSite(foreign))
	stale := site(foreign) // from before the deletion
	_, err := finalizer.Handle(t.Context(), s, stale, steps("no-slash")...)
	require.NoError(t, err, "no name is checked, and the object is going")

	_, err = finalizer.Handle(t.Context(), s, site(foreign), steps(row)...)
	require.Error(t, err, "the list changed")
	require.False(t, apierrors.IsConflict(err))
}
