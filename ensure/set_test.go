package ensure_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

func operations(results ensure.Results) []ensure.Operation {
	out := make([]ensure.Operation, len(results.Children))
	for i, child := range results.Children {
		out[i] = child.Operation
	}
	return out
}

func TestSetMakesTheChildrenInOrder(t *testing.T) {
	s := newServer()
	e := ensure.New(s.cached(faithful), s, fieldOwner)
	settings, web, front := configMap(), deployment(), service()
	pass := func() ensure.Results {
		results, err := ensure.Set(t.Context(), e, shop(), []client.Object{settings, web, front})
		require.NoError(t, err)
		return results
	}
	results := pass()
	require.Equal(t, []ensure.Operation{ensure.Created, ensure.Created, ensure.Created}, operations(results))
	requests := s.take()
	require.Len(t, requests, 3)
	for i, kind := range []string{"ConfigMap", "Deployment", "Service"} {
		require.Equal(t, kind, requests[i].body["kind"])
	}
	require.Equal(t, []metav1.OwnerReference{shopRef()}, live(t, s, service()).OwnerReferences)

	s.edit(t, deployment(), `{"spec":{"replicas":5}}`)
	web.Spec.Replicas = new(int32(2))
	results = pass()
	require.Equal(t, []ensure.Operation{ensure.Unchanged, ensure.Updated, ensure.Unchanged}, operations(results))
	s.take()
	pass()
	require.Empty(t, s.take(), "in steady state")

	found := ensure.ResultOf(results, web)
	require.Equal(t, ensure.Updated, found.Operation)
	require.Equal(t, ensure.DesiredChanged, found.Cause)
	require.Contains(t, found.Changes, ensure.Change{Path: "spec.replicas", Old: "5", New: "2"})
	require.Equal(t, int32(2), *found.Live.Spec.Replicas)
	require.Zero(t, ensure.ResultOf(results, deployment()), "another object than the one that Set was given")
}

func TestSetStopsAtTheFirstError(t *testing.T) {
	s := newServer()
	s.answers = []error{nil, status(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeFieldValueInvalid, "spec.replicas"))}
	settings, web, front := configMap(), deployment(), service()
	results, err := ensure.Set(t.Context(), newEnsurer(s), shop(), []client.Object{settings, web, front}, ensure.Prune(&corev1.ConfigMap{}))
	var failed *ensure.Error
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.Equal(t, "Deployment", failed.Kind.Kind)
	require.Equal(t, []ensure.Operation{ensure.Created, "", ""}, operations(results))
	require.Equal(t, ensure.Created, ensure.ResultOf(results, settings).Operation)
	require.Zero(t, ensure.ResultOf(results, web))
	require.Empty(t, cmp.Diff([]string{"get", "create", "get", "create"}, s.verbs()), "no Service, and nothing is pruned")
}

func TestSetGivesOptionsToOneChild(t *testing.T) {
	theirs := with(configMap(), func(o *corev1.ConfigMap) { o.UID = "uid-of-theirs" })
	s := newServer(theirs)
	settings, front := configMap(), service()
	_, err := ensure.Set(t.Context(), newEnsurer(s), shop(), []client.Object{settings, front}, ensure.OnlyFor(front, ensure.Adopt()))
	require.ErrorIs(t, err, ensure.ErrForeign)
	results, err := ensure.Set(t.Context(), newEnsurer(s), shop(), []client.Object{settings, front}, ensure.OnlyFor(settings, ensure.Adopt()))
	require.NoError(t, err)
	require.Equal(t, ensure.Adopted, ensure.ResultOf(results, settings).Cause)
}

// continuing is a pass over a Service, a ConfigMap and a Deployment that goes on after errors.
func continuing(t *testing.T, s *apiServer) (ensure.Results, error) {
	t.Helper()
	return ensure.Set(t.Context(), newEnsurer(s), shop(), []client.Object{service(), configMap(), deployment()},
		ensure.ContinueOnError(), ensure.Prune(&corev1.ConfigMap{}))
}

// kindsOf are the kinds of the children that failed.
func kindsOf(t *testing.T, err error) (kinds []string) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	for _, part := range joined.Unwrap() {
		failed, ok := part.(*ensure.Error) //nolint:errorlint // part itself is meant
		require.True(t, ok)
		kinds = append(kinds, failed.Kind.Kind)
	}
	return kinds
}

func TestSetContinuesAfterErrors(t *testing.T) {
	s := newServer()
	created(t, s, called("unwanted"), ensure.ControlledBy(shop()))
	invalid, forbidden := status(422, metav1.StatusReasonInvalid), status(403, metav1.StatusReasonForbidden)
	s.answers = []error{invalid, nil, forbidden}
	results, err := continuing(t, s)
	require.Equal(t, []string{"Service", "Deployment"}, kindsOf(t, err))
	require.Equal(t, []ensure.Operation{"", ensure.Created, ""}, operations(results))
	require.Empty(t, results.Pruned)
	require.NotNil(t, live(t, s, called("unwanted")))
	require.Equal(t, "Invalid", ensure.Reason(err), "of the first")
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorIs(t, err, ensure.ErrAPI)

	next, err := ensure.Retry(t.Context(), err, results)
	require.NoError(t, err)
	require.Equal(t, failureDelay, next.RequeueAfter)

	s.answers = []error{nil, forbidden}
	results, err = continuing(t, s)
	require.Equal(t, []string{"Deployment"}, kindsOf(t, err))
	require.Equal(t, []ensure.Operation{ensure.Created, ensure.Unchanged, ""}, operations(results))

	results, err = continuing(t, s)
	require.NoError(t, err)
	require.Equal(t, []ensure.Operation{ensure.Unchanged, ensure.Unchanged, ensure.Created}, operations(results))
	require.Equal(t, []string{"unwanted"}, namesOf(results.Pruned))
}

// The children after these would fail alike.
func TestSetStopsDespiteContinueOnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, tc := range map[string]struct {
		answer error
		before func(s *apiServer)
		class  error
	}{
		"the context is done": {context.Canceled, func(*apiServer) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.answers = []error{tc.answer}
			s.before = func(verb string) {
				if verb == "create" && tc.before != nil {
					tc.before(s)
				}
			}
			results, err := ensure.Set(ctx, newEnsurer(s), shop(), []client.Object{service(), configMap()}, ensure.ContinueOnError())
			require.ErrorIs(t, err, tc.class)
			require.Equal(t, []string{"Service"}, kindsOf(t, err))
			require.Equal(t, []ensure.Operation{"", ""}, operations(results))
			require.Empty(t, cmp.Diff([]string{"get", "create"}, s.verbs()))
		})
	}
}

// An owner that is gone has no child, and a child that is going says nothing about the others.
func TestSetContinuesUnlessTheOwnerIsGone(t *testing.T) {
	s := newServer()
	s.leaving(t)
	results, err := continuing(t, s)
	require.ErrorIs(t, err, ensure.ErrTerminating)
	require.Equal(t, []string{"ConfigMap"}, kindsOf(t, err))
	require.Equal(t, []ensure.Operation{ensure.Created, "", ensure.Created}, operations(results))

	s = newServer()
	e := newEnsurer(s)
	front := service()
	for range 2 { // then the cache has shown it
		_, err = ensure.Set(t.Context(), e, shop(), []client.Object{front})
		require.NoError(t, err)
	}
	s.remove(t, front)
	s.remove(t, shop())
	s.take()
	results, err = ensure.Set(t.Context(), e, shop(), []client.Object{front, configMap()}, ensure.ContinueOnError())
	require.ErrorIs(t, err, ensure.ErrOwnerTerminating)
	require.Equal(t, []ensure.Operation{"", ""}, operations(results))
	require.Empty(t, writes(s.verbs()))
}

// The kinds of two Prunes are joined, and so is what their methods say.
func TestSetWithTwoPrunes(t *testing.T) {
	s := newServer(found(func(*corev1.ConfigMap) {}))
	e := newEnsurer(s)
	adopted := adoptedLabel()
	_, err := ensure.Set(t.Context(), e, shop(), []client.Object{adopted, service()}, ensure.OnlyFor(adopted, ensure.Adopt()))
	require.NoError(t, err)
	s.take()
	prune := ensure.Prune(&corev1.ConfigMap{})
	_ = prune.Propagation(metav1.DeletePropagationForeground).WhenReady() // a copy
	results, err := ensure.Set(t.Context(), e, shop(), nil, prune.Propagation(metav1.DeletePropagationForeground),
		ensure.Prune(&corev1.Service{}).DeleteAdopted().Propagation(metav1.DeletePropagationOrphan), prune)
	require.NoError(t, err)
	require.Equal(t, []string{"settings", "web"}, namesOf(results.Pruned))
	for _, removal := range removals(s.take()) {
		require.Equal(t, metav1.DeletePropagationOrphan, *removal.PropagationPolicy)
	}
}

// What would be refused is found before anything is written.
func TestSetRefusesEarly(t *testing.T) {
	going := shop()
	going.DeletionTimestamp = new(metav1.Now())
	nameless := with(service(), func(svc *corev1.Service) { svc.Name = "" })
	settings := configMap()
	given := func(opts ...ensure.SetOption) []ensure.SetOption { return opts }
	var none *appsv1.Deployment
	for name, tc := range map[string]struct {
		owner    client.Object
		children []client.Object
		opts     []ensure.SetOption
		class    error
		says     string
	}{
		"a child without a name":   {shop(), []client.Object{settings, nameless}, nil, ensure.ErrRefused, "metadata.name is required"},
		"no child":                 {shop(), []client.Object{settings, none}, nil, ensure.ErrRefused, "desired is nil"},
		"the same child twice":     {shop(), []client.Object{settings, service(), configMap()}, nil, ensure.ErrRefused, `ConfigMap "default/settings": Refused: occurs twice`},
		"no owner":                 {nil, []client.Object{settings}, nil, ensure.ErrRefused, "owner given to ensure.ControlledBy is nil"},
		"no owner to prune for":    {nil, nil, given(ensure.Prune(&corev1.ConfigMap{})), ensure.ErrRefused, "is nil"},
		"an owner that is going":   {going, []client.Object{settings}, nil, ensure.ErrOwnerTerminating, "is being deleted"},
		"likewise, to prune for":   {going, nil, given(ensure.Prune(&corev1.ConfigMap{})), ensure.ErrOwnerTerminating, "is being deleted"},
		"OnlyFor what is no child": {shop(), []client.Object{settings}, given(ensure.OnlyFor(configMap())), ensure.ErrRefused, "names none of the children"},
		"a nil option":             {shop(), []client.Object{settings}, []ensure.SetOption{nil}, ensure.ErrRefused, "an Option is nil"},
		"a nil option for one":     {shop(), []client.Object{settings}, given(ensure.OnlyFor(settings, nil)), ensure.ErrRefused, "an Option is nil"},
		"a nil ChildOption":        {shop(), []client.Object{settings}, given(ensure.ChildOption(nil)), ensure.ErrRefused, "an Option is nil"},
		"a zero Pruning":           {shop(), nil, given(ensure.Pruning{}), ensure.ErrRefused, "an object of each kind"},
		"a nil kind to prune":      {shop(), nil, given(ensure.Prune(nil)), ensure.ErrRefused, "an object of each kind"},
		"no kind to prune":         {shop(), nil, given(ensure.Prune()), ensure.ErrRefused, "an object of each kind"},
		"a cluster-scoped kind":    {shop(), nil, given(ensure.Prune(&corev1.Namespace{})), ensure.ErrRefused, "cannot own a cluster-scoped object"},
		"a kind that has no list":  {shop(), nil, given(ensure.Prune(&Kiosk{})), ensure.ErrRefused, "KioskList is not a list type"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			_, err := ensure.Set(t.Context(), newEnsurer(s), tc.owner, tc.children, tc.opts...)
			require.ErrorIs(t, err, tc.class)
			require.ErrorContains(t, err, tc.says)
			require.Empty(t, s.take())
		})
	}
}

func TestSetWithoutAnEnsurer(t *testing.T) {
	_, err := ensure.Set(t.Context(), nil, shop(), []client.Object{configMap()})
	require.ErrorIs(t, err, ensure.ErrRefused)
	_, err = ensure.Set(t.Context(), nil, shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
	require.ErrorIs(t, err, ensure.ErrRefused)
}

func TestAnEmptySet(t *testing.T) {
	s := newServer()
	results, err := ensure.Set(t.Context(), newEnsurer(s), shop(), nil)
	require.NoError(t, err)
	require.Empty(t, results.Children)
	require.Empty(t, s.take())
	require.Zero(t, ensure.ResultOf[client.Object](results, nil))
}
