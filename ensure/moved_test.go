package ensure_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
)

// The cache shows nothing, the server has something: the create-only apply is
// answered with a 409 and the server is asked.
func TestCreateThatMeetsAnObject(t *testing.T) {
	cases := map[string]struct {
		reason string
		meet   func(t *testing.T, s *apiServer)
		class  error
		op     ensure.Operation
		want   []string
	}{
		"ours, as desired": {
			"the cache is behind", func(t *testing.T, s *apiServer) { t.Helper(); created(t, s, configMap()) },
			nil, ensure.Unchanged,
			[]string{"create", "get"},
		},
		"ours, of an older desired state": {
			"the copy from the server is as good as a read", func(t *testing.T, s *apiServer) {
				t.Helper()
				created(t, s, with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" }))
			},
			nil, ensure.Updated,
			[]string{"create", "get", "apply"},
		},
		"foreign": {
			"somebody else was first", func(t *testing.T, s *apiServer) {
				t.Helper()
				_, err := ensure.Object(t.Context(), ensure.New(s, s, "stranger"), configMap())
				require.NoError(t, err)
			},
			ensure.ErrForeign, "",
			[]string{"create", "get"},
		},
		"going": {
			"the old one is not gone yet", func(t *testing.T, s *apiServer) {
				t.Helper()
				created(t, s, configMap())
				s.edit(t, configMap(), `{"metadata":{"finalizers":["example.com/wait"]}}`)
				s.remove(t, configMap())
			},
			ensure.ErrTerminating, "",
			[]string{"create", "get"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			tc.meet(t, s)
			s.take()
			result, err := ensure.Object(t.Context(), ensure.New(s.cached(hidden), s, fieldOwner), configMap())
			require.ErrorIs(t, err, tc.class, tc.reason)
			require.Equal(t, tc.op, result.Operation)
			require.Empty(t, cmp.Diff(tc.want, s.verbs()))
		})
	}
}

func TestCreateThatMeetsAnObjectOfAPreviousOwner(t *testing.T) {
	s := newServer()
	previous := shop()
	previous.UID = "uid-of-previous-shop"
	created(t, s, configMap(), ensure.ControlledBy(previous))
	_, err := ensure.Object(t.Context(), ensure.New(s.cached(hidden), s, fieldOwner), configMap(), ensure.ControlledBy(shop()))
	require.ErrorIs(t, err, ensure.ErrForeign)
	require.ErrorContains(t, err, "previous Shop of the same name")
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New(secret))
}

func replaced() error {
	return status(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeFieldValueInvalid, "metadata.uid"))
}

func TestAnApplyThatMissesItsObjectIsTriedOnceMore(t *testing.T) {
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "settings")
	for name, answer := range map[string]error{"409": conflict(), "422 on metadata.uid": replaced(), "409 AlreadyExists": exists} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" }))
			s.answers = []error{answer}
			require.Equal(t, ensure.Updated, mustEnsure(t, newEnsurer(s), configMap()).Operation)
			require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "apply"}, s.verbs()))
		})
	}
}

func TestTwoMissesAreAConflict(t *testing.T) {
	for name, answer := range map[string]error{"409": conflict(), "422 on metadata.uid": replaced()} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" }))
			s.answers = []error{answer, answer}
			_, err := ensure.Object(t.Context(), newEnsurer(s, sensitiveConfigMaps()), configMap())

			require.ErrorIs(t, err, ensure.ErrAPI)
			require.Equal(t, "Conflict", ensure.Reason(err))
			require.True(t, apierrors.IsConflict(err), "%v", err)
			require.NotContains(t, err.Error(), secret)
			require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "apply"}, s.verbs()))
			result, retry := ensure.Retry(t.Context(), err)
			require.NoError(t, retry)
			require.Equal(t, conflictDelay, result.RequeueAfter)
		})
	}
}

func TestTwoCreatesThatMeetNothingAreAConflict(t *testing.T) {
	s := newServer()
	s.answers = []error{conflict(), conflict()}
	_, err := ensure.Object(t.Context(), newEnsurer(s), configMap())
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.Equal(t, "Conflict", ensure.Reason(err))
	require.Empty(t, cmp.Diff([]string{"get", "create", "get", "create"}, s.verbs()))
}

func TestAnObjectThatGoesBetweenReadAndApplyIsNotResurrected(t *testing.T) {
	s := newServer()
	old := created(t, s, with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" }))
	s.before = func(verb string) {
		if verb == "apply" {
			s.before = nil
			s.remove(t, configMap())
		}
	}
	result := mustEnsure(t, newEnsurer(s), configMap())
	require.Equal(t, ensure.Created, result.Operation)
	require.Equal(t, ensure.Missing, result.Cause)
	require.NotEqual(t, old.UID, result.Live.UID)
	require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "create"}, s.verbs()))
}

func TestAnObjectThatBeginsToGoBetweenReadAndSecondReadIsLeftAlone(t *testing.T) {
	s := newServer()
	created(t, s, with(configMap(), func(o *corev1.ConfigMap) {
		o.Data["color"], o.Finalizers = "red", []string{"example.com/ours"}
	}))
	s.answers = []error{conflict()}
	s.before = func(verb string) {
		if verb == "apply" {
			s.remove(t, configMap())
		}
	}
	_, err := ensure.Object(t.Context(), newEnsurer(s), configMap())
	require.ErrorIs(t, err, ensure.ErrTerminating)
	require.Empty(t, cmp.Diff([]string{"get", "apply", "get"}, s.verbs()))
}

// Others may write beside us between our read and our apply.
func TestWhatOthersWriteMeanwhileIsNotOurDoing(t *testing.T) {
	cases := map[string]struct{ reason, edit string }{
		"a label more":  {"a key of theirs", `{"metadata":{"labels":{"theirs":"y"}}}`},
		"a label less":  {"a key of theirs", `{"metadata":{"labels":{"before":null}}}`},
		"an annotation": {"a key of theirs", `{"metadata":{"annotations":{"theirs":"y"}}}`},
		"a generation":  {"only the version moves", `{"metadata":{"generation":7}}`},
		"a finalizer":   {"theirs", `{"metadata":{"finalizers":["theirs.example.com/wait"]}}`},
		"an owner":      {"one of theirs, too", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			e := newEnsurer(s)
			mustEnsure(t, e, configMap())
			// Content of theirs makes us ask.
			s.edit(t, configMap(), `{"metadata":{"labels":{"before":"x"}},"data":{"theirs":"x"}}`)
			s.before = editBeforeApply(t, s, tc.edit)
			result := mustEnsure(t, e, configMap())
			require.Equal(t, ensure.Unchanged, result.Operation, tc.reason)
			require.Empty(t, result.Changes)
		})
	}
}

// Nobody controlled the object at the time of the read.
func TestAnObjectThatGetsAControllerMeanwhileIsForeign(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, configMap())
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	s.before = editBeforeApply(t, s, `{"metadata":{"ownerReferences":[
		{"apiVersion":"v1","kind":"Boss","name":"boss","uid":"uid-of-boss","controller":true}]}}`)
	for range 2 {
		_, err := ensure.Object(t.Context(), e, configMap())
		require.ErrorIs(t, err, ensure.ErrForeign)
		require.ErrorContains(t, err, `controlled by Boss "boss"`)
	}
	require.Empty(t, cmp.Diff([]string{"create", "get", "apply", "get"}, s.verbs()[1:]), "the apply is the last one")
}

func TestTheFirstLabelThatOthersWriteMeanwhileIsNotOurDoing(t *testing.T) {
	for _, member := range []string{"labels", "annotations"} {
		t.Run(member, func(t *testing.T) {
			bare := with(configMap(), func(o *corev1.ConfigMap) { o.Labels, o.Annotations = nil, nil })
			s := newServer()
			e := newEnsurer(s)
			mustEnsure(t, e, bare)
			s.edit(t, bare, `{"data":{"theirs":"x"}}`)
			s.before = editBeforeApply(t, s, `{"metadata":{"`+member+`":{"theirs":"y"}}}`)
			result := mustEnsure(t, e, bare)
			require.Equal(t, ensure.Unchanged, result.Operation)
			require.Empty(t, result.Changes)
		})
	}
}

func editBeforeApply(t *testing.T, s *apiServer, edit string) func(string) {
	t.Helper()
	return func(verb string) {
		if verb == "apply" {
			s.before = nil
			s.edit(t, configMap(), edit)
		}
	}
}

// What we drop is our doing, what others drop beside us is not.
func TestRemovedAnnotationsAreOursIfWeHadAppliedThem(t *testing.T) {
	cases := map[string]struct {
		reason string
		show   view
		want   []string
	}{
		"owned": {
			"our entry tells", faithful,
			[]string{"metadata.annotations[dropped]", digestPath},
		},
		"no entries": {
			"they are read before the write", withoutManagedFields,
			[]string{"metadata.annotations[dropped]", digestPath},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, with(configMap(), func(o *corev1.ConfigMap) { o.Annotations["dropped"] = "x" }))
			s.edit(t, configMap(), `{"metadata":{"annotations":{"theirs":"x"}}}`)
			s.before = editBeforeApply(t, s, `{"metadata":{"annotations":{"theirs":null}}}`)
			result := mustEnsure(t, ensure.New(s.cached(tc.show), s, fieldOwner), configMap())
			require.Equal(t, tc.want, paths(result.Changes), tc.reason)
		})
	}
}

// Two passes may end in another order than the server answered them.
func TestAnAnswerThatComesLateIsNotRemembered(t *testing.T) {
	s := newServer()
	var e *ensure.Ensurer
	red := with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" })
	late := false
	slow := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			err := c.Patch(ctx, obj, patch, opts...)
			if !late {
				late = true
				// Answered, and remembered, before the answer to blue arrives.
				if _, err := ensure.Object(ctx, e, red); err != nil {
					return err
				}
			}
			return err
		},
	})
	e = ensure.New(slow, s, fieldOwner)
	require.Equal(t, "blue", mustEnsure(t, e, configMap()).Live.Data["color"])
	s.take()

	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, red).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
}
