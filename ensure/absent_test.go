package ensure_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

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

func mustBeAbsent[T client.Object](t *testing.T, e *ensure.Ensurer, obj T, opts ...ensure.AbsentOption) ensure.Result[T] {
	t.Helper()
	result, err := ensure.Absent(t.Context(), e, obj, opts...)
	require.NoError(t, err)
	if result.Operation != ensure.Deleting {
		require.Empty(t, result.Cause)
	}
	require.Empty(t, result.Changes)
	return result
}

// named is all that Absent needs.
func named() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
}

func TestAbsentDeletesWhatIsOurs(t *testing.T) {
	s := newServer()
	made := created(t, s, configMap(), ensure.ControlledBy(shop()))
	e := ensure.New(s.cached(faithful), s, fieldOwner)
	going := shop()
	going.DeletionTimestamp = new(metav1.Now())

	result := mustBeAbsent(t, e, named(), ensure.ControlledBy(going))
	require.Equal(t, ensure.Deleting, result.Operation)
	require.Equal(t, ensure.Unwanted, result.Cause)
	require.Equal(t, made.UID, result.Live.UID)
	requests := s.take()
	require.Len(t, requests, 1)
	require.Equal(t, made.UID, *requests[0].removal.Preconditions.UID)
	require.Equal(t, made.ResourceVersion, *requests[0].removal.Preconditions.ResourceVersion)
	require.Equal(t, metav1.DeletePropagationBackground, *requests[0].removal.PropagationPolicy)
	require.False(t, consistency.IsOff(&requests[0].removal))

	result = mustBeAbsent(t, e, named(), ensure.ControlledBy(going))
	require.Equal(t, ensure.Gone, result.Operation)
	require.Nil(t, result.Live)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()), "what a cache does not show the server confirms")

	require.Equal(t, ensure.Gone, mustBeAbsent(t, e, named(), ensure.ControlledBy(going)).Operation)
	require.Empty(t, s.verbs(), "once is enough")
}

func TestAbsentDoesNotTrustWhatItRemembers(t *testing.T) {
	s := newServer()
	behind := &lagging{Client: s.cached(faithful)}
	e := ensure.New(behind, s, fieldOwner)
	mustBeAbsent(t, e, named())
	mustBeAbsent(t, e, named())
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))

	_, err := ensure.Object(t.Context(), e, configMap())
	require.NoError(t, err)
	behind.lags = true
	s.take()
	require.Equal(t, ensure.Deleting, mustBeAbsent(t, e, named()).Operation, "we made it, and the cache is behind")
	requests := s.take()
	require.Len(t, requests, 2)
	require.Equal(t, consistency.IsSupported(), consistency.IsOff(&requests[1].removal), "it might never show what it has not shown")
	behind.lags = false
	require.Equal(t, ensure.Gone, mustBeAbsent(t, e, named()).Operation)
	s.verbs()

	created(t, s, configMap())
	require.Equal(t, ensure.Deleting, mustBeAbsent(t, e, named()).Operation, "another instance made it, and the cache shows it")
	require.Empty(t, cmp.Diff([]string{"delete"}, s.verbs()))
	behind.lags = true
	mustBeAbsent(t, e, named())
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()), "gone is to be confirmed anew")
}

// lagging is a cache that may not show objects yet.
type lagging struct {
	client.Client
	lags bool
}

func (l *lagging) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if l.lags {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	return l.Client.Get(ctx, key, obj, opts...)
}

func (l *lagging) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if l.lags {
		return nil
	}
	return l.Client.List(ctx, list, opts...)
}

func TestAbsentPropagates(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground,
	} {
		s := newServer()
		created(t, s, configMap())
		mustBeAbsent(t, ensure.New(s.cached(faithful), s, fieldOwner), named(), ensure.Propagation(policy))
		require.Equal(t, policy, *s.take()[0].removal.PropagationPolicy)
	}
}

func TestAbsentWaitsForWhatIsGoing(t *testing.T) {
	s := newServer()
	created(t, s, with(configMap(), func(o *corev1.ConfigMap) { o.Finalizers = []string{"theirs.example.com/wait"} }))
	e := ensure.New(s.cached(faithful), s, fieldOwner)
	for _, cause := range []ensure.Cause{ensure.Unwanted, "", ""} {
		result := mustBeAbsent(t, e, named())
		require.Equal(t, ensure.Deleting, result.Operation)
		require.Equal(t, cause, result.Cause, "of the call that sent the delete")
	}
	require.Empty(t, cmp.Diff([]string{"delete"}, s.verbs()), "once is enough")
}

func TestAbsentLeavesWhatIsNotOurs(t *testing.T) {
	boss := metav1.OwnerReference{APIVersion: "v1", Kind: "Boss", Name: "boss", UID: "uid-of-boss", Controller: new(true)}
	cases := map[string]struct {
		reason string
		live   *corev1.ConfigMap
		opts   []ensure.AbsentOption
	}{
		"uncontrolled":               {"nothing shows that it is ours", found(func(*corev1.ConfigMap) {}), nil},
		"uncontrolled, for an owner": {"likewise", found(func(*corev1.ConfigMap) {}), []ensure.AbsentOption{ensure.ControlledBy(shop())}},
		"another's": {
			"it has a controller", found(func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{boss} }),
			[]ensure.AbsentOption{ensure.ControlledBy(shop())},
		},
		"another's, with our digest": {
			"an owner is needed", found(func(o *corev1.ConfigMap) {
				o.OwnerReferences = []metav1.OwnerReference{boss}
				o.Annotations = map[string]string{digestKey: "v1-x"}
			}), nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(tc.live)
			e := ensure.New(s.cached(faithful), s, fieldOwner)
			for range 2 {
				result := mustBeAbsent(t, e, named(), tc.opts...)
				require.Equal(t, ensure.Released, result.Operation, tc.reason)
				require.Empty(t, result.Cause, "nothing was done")
				require.Equal(t, tc.live.Data, result.Live.Data)
			}
			require.Subset(t, []string{"get"}, s.verbs())
		})
	}
}

func TestAbsentOfAnObjectMeansThatObject(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	old := named()
	old.UID = "uid-of-one-before"
	require.Equal(t, ensure.Gone, mustBeAbsent(t, newEnsurer(s), old).Operation)
	require.NotContains(t, s.verbs(), "delete")

	require.Equal(t, ensure.Deleting, mustBeAbsent(t, newEnsurer(s), live(t, s, configMap())).Operation)
}

// What was read may not be what is there any more.
func TestAbsentLooksOnceMore(t *testing.T) {
	cases := map[string]struct {
		reason  string
		between func(*testing.T, *apiServer)
		want    ensure.Operation
		verbs   []string
	}{
		"changed": {
			"it is still ours",
			func(t *testing.T, s *apiServer) { s.edit(t, configMap(), `{"data":{"color":"red"}}`) },
			ensure.Deleting,
			[]string{"delete", "get", "delete"},
		},
		"gone": {
			"so much the better",
			func(t *testing.T, s *apiServer) { s.remove(t, configMap()) },
			ensure.Gone,
			[]string{"delete"},
		},
		"another's now": {
			"not ours any more",
			func(t *testing.T, s *apiServer) {
				s.edit(t, configMap(), `{"metadata":{"ownerReferences":[
					{"apiVersion":"v1","kind":"Boss","name":"boss","uid":"uid-of-boss","controller":true}]}}`)
			},
			ensure.Released,
			[]string{"delete", "get"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap())
			s.take()
			s.before = func(verb string) {
				if verb == "delete" {
					s.before = nil
					tc.between(t, s)
				}
			}
			result := mustBeAbsent(t, ensure.New(s.cached(faithful), s, fieldOwner), named())
			require.Equal(t, tc.want, result.Operation, tc.reason)
			require.Empty(t, cmp.Diff(tc.verbs, s.verbs()))
		})
	}
}

// A controller that writes the status of a new object is no reason to fail.
func TestAbsentOfWhatChangesForAMoment(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	changes := 0
	s.before = func(verb string) {
		if verb == "delete" && changes < 3 {
			changes++
			s.edit(t, configMap(), fmt.Sprintf(`{"metadata":{"annotations":{"seen":"%d"}}}`, changes))
		}
	}
	behind := &lagging{Client: s.cached(faithful), lags: true}
	result := mustBeAbsent(t, ensure.New(behind, s, fieldOwner), named())
	require.Equal(t, ensure.Deleting, result.Operation)
	require.Equal(t, "3", result.Live.Annotations["seen"], "it was deleted as it was last seen")
}

func TestAbsentOfWhatChangesAllTheTimeIsAConflict(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	s.answers = slices.Repeat([]error{conflict()}, 6)
	_, err := ensure.Absent(t.Context(), newEnsurer(s), named())
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.True(t, apierrors.IsConflict(err))
	require.ErrorContains(t, err, `cannot delete ConfigMap "default/settings": Conflict`)
}

func TestAbsentRefuses(t *testing.T) {
	cases := map[string]struct {
		obj  *corev1.ConfigMap
		opts []ensure.AbsentOption
		text string
	}{
		"nil":       {nil, nil, "is nil"},
		"no name":   {&corev1.ConfigMap{}, nil, "metadata.name is required"},
		"nil owner": {named(), []ensure.AbsentOption{ensure.ControlledBy(nil)}, "owner given to ensure.ControlledBy is nil"},
		"no namespace": {
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, nil, "metadata.namespace is required",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			_, err := ensure.Absent(t.Context(), newEnsurer(s), tc.obj, tc.opts...)
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.ErrorContains(t, err, tc.text)
			require.Empty(t, s.verbs())
		})
	}
}

func TestAbsentTellsWhatFailed(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	s.answers = []error{apierrors.NewForbidden(corev1.Resource("configmaps"), "settings", nil)}
	_, err := ensure.Absent(t.Context(), newEnsurer(s), named())
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.Equal(t, "Forbidden", ensure.Reason(err))

	misses := apierrors.NewNotFound(corev1.Resource("secrets"), "quota")
	misses.ErrStatus.Message = `admission webhook "guard.example.com" denied the request: ` + misses.ErrStatus.Message
	s.answers = []error{misses}
	_, err = ensure.Absent(t.Context(), newEnsurer(s), named())
	require.ErrorIs(t, err, ensure.ErrAPI, "a webhook misses something else")
	require.Equal(t, "NotFound", ensure.Reason(err))

	broken := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewTooManyRequestsError("later")
		},
	})
	_, err = ensure.Absent(t.Context(), ensure.New(broken, broken, fieldOwner), named())
	require.ErrorIs(t, err, ensure.ErrAPI)
	_, err = ensure.Absent(t.Context(), ensure.New(s.cached(hidden), broken, fieldOwner), named())
	require.ErrorIs(t, err, ensure.ErrAPI)
}
