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

func fivePods() *appsv1.Deployment {
	return with(deployment(), func(o *appsv1.Deployment) { o.Spec.Replicas = new(int32(5)) })
}

func TestReleaseKeepsTheValue(t *testing.T) {
	cases := map[string]struct {
		reason string
		show   view
		verbs  []string
	}{
		"complete":               {"our entry is there", faithful, []string{entryPatch, "apply"}},
		"without managed fields": {"the server has it", withoutManagedFields, []string{"get", entryPatch, "apply"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, fivePods())
			e := ensure.New(s.cached(tc.show), s, fieldOwner)
			result := mustEnsure(t, e, deployment(), ensure.Release("spec.replicas"))
			require.Equal(t, ensure.Updated, result.Operation)
			require.Equal(t, ensure.DesiredChanged, result.Cause)
			require.Empty(t, cmp.Diff([]string{digestPath}, paths(result.Changes)))
			require.Equal(t, int32(5), *result.Live.Spec.Replicas)
			require.Empty(t, cmp.Diff(tc.verbs, s.verbs()), tc.reason)

			for _, opts := range [][]ensure.Option{{ensure.Release("spec.replicas")}, nil} {
				require.Equal(t, ensure.Unchanged, mustEnsure(t, e, deployment(), opts...).Operation)
			}
			require.Empty(t, s.verbs())
		})
	}
}

func TestWithoutReleaseTheValueGoes(t *testing.T) {
	s := newServer()
	created(t, s, fivePods())
	require.Nil(t, mustEnsure(t, newEnsurer(s), deployment()).Live.Spec.Replicas, "the server would default it to 1")
}

func TestReleaseTogetherWithMigrateFrom(t *testing.T) {
	s := newServer()
	s.createOld(t, fivePods())
	result := mustEnsure(t, newEnsurer(s), deployment(), ensure.Adopt(), ensure.MigrateFrom(oldManager), ensure.Release("spec.replicas"))
	require.Equal(t, ensure.Migrated, result.Cause)
	require.Equal(t, int32(5), *result.Live.Spec.Replicas)
	require.Empty(t, cmp.Diff([]string{"get", "apply", entryPatch}, s.verbs()))
}

func TestNothingToRelease(t *testing.T) {
	s := newServer()
	result := mustEnsure(t, newEnsurer(s), deployment(), ensure.Release("spec.replicas"))
	require.Equal(t, ensure.Created, result.Operation)
	changed := with(deployment(), func(o *appsv1.Deployment) { o.Spec.Paused = true })
	mustEnsure(t, newEnsurer(s), changed, ensure.Release("spec.replicas"))
	require.Empty(t, cmp.Diff([]string{"get", "create", "get", "apply"}, s.verbs()))
}

func TestAReleaseThatFails(t *testing.T) {
	s := newServer()
	created(t, s, fivePods())
	s.answers = []error{status(403, metav1.StatusReasonForbidden)}
	_, err := ensure.Object(t.Context(), newEnsurer(s), deployment(), ensure.Release("spec.replicas"))
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.ErrorContains(t, err, `cannot release Deployment "default/web"`)
	require.Empty(t, cmp.Diff([]string{"get", entryPatch}, s.verbs()))
	require.Equal(t, int32(5), *live(t, s, deployment()).Spec.Replicas)
}

func TestReleaseRefuses(t *testing.T) {
	const container = "spec.template.spec.containers"
	cases := map[string]struct {
		path, want string
	}{
		"nothing":               {"", "is not a path"},
		"a JSON pointer":        {"/spec/replicas", "is not a path"},
		"an open bracket":       {"spec.template.spec.containers[name=web", "is not a path"},
		"a dot too many":        {"spec..replicas", "is not a path"},
		"a typing error":        {"spec.replica", "there is no replica"},
		"an unknown member":     {"data[x]", "there is no data"},
		"an item by its index":  {container + "[0].image", "[0] should be [name=…]"},
		"an item by half a key": {container + "[name=web].ports[containerPort=80]", "should be [containerPort=…,protocol=…]"},
		"an item of a plain list": {
			container + "[name=web].args[0]", "without one it is part of its list",
		},
		"what desired specifies":         {container + "[name=web].image", "leave it out of desired"},
		"more than what desired has not": {"spec", "leave it out of desired"},
		"a label of everyone's":          {"metadata.labels[team]", "leave it out of desired"},
		"our digest":                     {"metadata.annotations[" + digestKey + "]", "leave it out of desired"},
		"our owner":                      {"metadata.ownerReferences[uid=uid-of-shop]", "leave it out of desired"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			e := newEnsurer(s, ensure.WithLabels(map[string]string{"team": "x"}))
			_, err := ensure.Object(t.Context(), e, deployment(), ensure.ControlledBy(shop()), ensure.Release("spec.paused", tc.path))
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.ErrorContains(t, err, tc.want)
			require.Empty(t, s.verbs())
		})
	}
}

// A value cannot stay where nothing is left around it.
func TestReleaseOfPartOfWhatGoesIsRefused(t *testing.T) {
	s := newServer()
	created(t, s, with(deployment(), func(o *appsv1.Deployment) {
		o.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", Value: "1"}}
	}))
	const item = "spec.template.spec.containers[name=web].env[name=X]"
	_, err := ensure.Object(t.Context(), newEnsurer(s), deployment(), ensure.Release(item+".value"))
	var refused *ensure.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.ErrorContains(t, err, "give ensure.Release "+item)
	require.Equal(t, []string{item + ".value"}, refused.Paths)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))

	result := mustEnsure(t, newEnsurer(s), deployment(), ensure.Release(item))
	require.Len(t, result.Live.Spec.Template.Spec.Containers[0].Env, 1)
}

// What has no Go type is released by the keys that the server goes by.
func TestReleaseOfUnstructuredFields(t *testing.T) {
	s := newServer()
	full := unstructuredConfigMap()
	full.Object["data"] = map[string]any{"color": "blue", "shape": "round"}
	created(t, s, client.Object(full))
	result := mustEnsure(t, newEnsurer(s), unstructuredConfigMap(), ensure.Release("data.shape"))
	require.Equal(t, map[string]any{"color": "blue", "shape": "round"}, result.Live.Object["data"])
	_, err := ensure.Object(t.Context(), newEnsurer(s), unstructuredConfigMap(), ensure.Release("data.color"))
	require.ErrorIs(t, err, ensure.ErrRefused)
}
