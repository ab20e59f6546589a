package ensure_test

import (
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

// What would be refused is found before anything is written.
func TestSetRefusesEarly(t *testing.T) {
	going := shop()
	going.DeletionTimestamp = new(metav1.Now())
	nameless := with(service(), func(svc *corev1.Service) { svc.Name = "" })
	settings := configMap()
	var none *appsv1.Deployment
	for name, tc := range map[string]struct {
		owner    client.Object
		children []client.Object
		opts     []ensure.Option
		class    error
		says     string
	}{
		"a child without a name":      {shop(), []client.Object{settings, nameless}, nil, ensure.ErrRefused, "metadata.name is required"},
		"no child":                    {shop(), []client.Object{settings, none}, nil, ensure.ErrRefused, "desired is nil"},
		"the same child twice":        {shop(), []client.Object{settings, service(), configMap()}, nil, ensure.ErrRefused, `ConfigMap "default/settings": Refused: occurs twice`},
		"no owner":                    {nil, []client.Object{settings}, nil, ensure.ErrRefused, "owner given to ensure.ControlledBy is nil"},
		"no owner to prune for":       {nil, nil, []ensure.Option{ensure.Prune(&corev1.ConfigMap{})}, ensure.ErrRefused, "is nil"},
		"an owner that is going":      {going, []client.Object{settings}, nil, ensure.ErrOwnerTerminating, "is being deleted"},
		"likewise, to prune for":      {going, nil, []ensure.Option{ensure.Prune(&corev1.ConfigMap{})}, ensure.ErrOwnerTerminating, "is being deleted"},
		"another owner":               {shop(), []client.Object{settings}, []ensure.Option{ensure.ControlledBy(shop())}, ensure.ErrRefused, "the owner is an argument"},
		"another owner for one":       {shop(), []client.Object{settings}, []ensure.Option{ensure.OnlyFor(settings, ensure.ControlledBy(going))}, ensure.ErrRefused, "the owner is an argument"},
		"pruning in one child":        {shop(), []client.Object{settings}, []ensure.Option{ensure.OnlyFor(settings, ensure.Prune(&corev1.ConfigMap{}))}, ensure.ErrRefused, "are for the whole Set"},
		"OnlyFor what is no child":    {shop(), []client.Object{settings}, []ensure.Option{ensure.OnlyFor(configMap())}, ensure.ErrRefused, "names none of the children"},
		"Propagation without pruning": {shop(), []client.Object{settings}, []ensure.Option{ensure.Propagation(metav1.DeletePropagationOrphan)}, ensure.ErrRefused, "no meaning without ensure.Prune"},
		"a nil option":                {shop(), []client.Object{settings}, []ensure.Option{nil}, ensure.ErrRefused, "an Option is nil"},
		"a nil option for one":        {shop(), []client.Object{settings}, []ensure.Option{ensure.OnlyFor(settings, nil)}, ensure.ErrRefused, "an Option is nil"},
		"a nil kind to prune":         {shop(), nil, []ensure.Option{ensure.Prune(nil)}, ensure.ErrRefused, "an object of each kind"},
		"no kind to prune":            {shop(), nil, []ensure.Option{ensure.Prune()}, ensure.ErrRefused, "an object of each kind"},
		"a cluster-scoped kind":       {shop(), nil, []ensure.Option{ensure.Prune(&corev1.Namespace{})}, ensure.ErrRefused, "cannot own a cluster-scoped object"},
		"a kind that has no list":     {shop(), nil, []ensure.Option{ensure.Prune(&Kiosk{})}, ensure.ErrRefused, "KioskList is not a list type"},
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
