package migration_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// TestANamesake: another program has the name of the old operator, so that both share an entry in the managed fields. Its
// fields that desired never had stay. What it also wrote of desired's goes when desired drops it.
func TestANamesake(t *testing.T) {
	for form, written := range writings {
		t.Run(form, func(t *testing.T) {
			namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
			old, namesake := program.Client(t, shared, oldName), program.Client(t, shared, oldName)
			setData(t, old, namespace, map[string]string{"color": "blue", "size": "1"})
			theirs := map[string][]byte{"key": {1}}
			write := func() {
				setData(t, namesake, namespace, map[string]string{"size": "1"})
				update(t, namesake, settings(namespace, nil), func(live *corev1.ConfigMap) {
					live.BinaryData = maps.Clone(theirs)
					live.Annotations = map[string]string{"theirs": "x"}
				})
			}
			do := func(data map[string]string, opts ...ensure.Option) *corev1.ConfigMap {
				opts = append(opts, ensure.Adopt(), ensure.MigrateFrom(oldName))
				mustEnsure(t, ensure.New(c, c, taker), written(t, settings(namespace, data)), opts...)
				live := liveOf(t, c, settings(namespace, nil))
				require.Equal(t, theirs, live.BinaryData)
				return live
			}
			write()
			do(map[string]string{"color": "blue", "size": "1"})
			theirs["more"] = []byte{2}
			write()
			do(map[string]string{"color": "red", "size": "1"})
			live := do(map[string]string{"color": "red"})
			require.Equal(t, map[string]string{"color": "red"}, live.Data)
			require.Equal(t, "x", live.Annotations["theirs"])
		})
	}
}

// TestANamesakeInPodTemplates: the namesake injects a marker and a container into the pods. No pod is rolled because of it.
func TestANamesakeInPodTemplates(t *testing.T) {
	for form, written := range writings {
		t.Run(form, func(t *testing.T) {
			namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
			old, namesake := program.Client(t, shared, oldName), program.Client(t, shared, oldName)
			desired := idle(namespace)
			desired.Labels, desired.Spec.Template.Annotations = map[string]string{"team": "a"}, map[string]string{"ours": "x"}
			require.NoError(t, old.Create(t.Context(), desired.DeepCopy()))
			update(t, namesake, desired, func(live *appsv1.Deployment) {
				live.Spec.Template.Annotations = map[string]string{"ours": "x", "theirs": "x"}
				pods := &live.Spec.Template.Spec
				pods.Containers = append(pods.Containers, corev1.Container{Name: "injected", Image: "envoy"})
			})
			was := liveOf(t, c, desired).Spec.Template
			do := func() corev1.PodTemplateSpec {
				opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
				ensureBesideControllers(t, ensure.New(c, c, taker), written(t, desired.DeepCopy()), opts...)
				return liveOf(t, c, desired).Spec.Template
			}
			require.Empty(t, cmp.Diff(was, do()))
			desired.Labels = map[string]string{"team": "b"}
			require.Empty(t, cmp.Diff(was, do()))

			desired.Spec.Template.Annotations = nil
			delete(was.Annotations, "ours")
			require.Empty(t, cmp.Diff(was, do()), "what desired drops goes, and nothing else")
		})
	}
}

// TestRetireLeavesWhatOthersOwn: a neighbour also wants what the operator retires.
func TestRetireLeavesWhatOthersOwn(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Client(t, shared, taker)
	setData(t, program.Client(t, shared, oldName), namespace, map[string]string{"color": "blue", "dropped": "x", "shared": "x"})
	both := asJSON(t, settings(namespace, map[string]string{"shared": "x"}))
	require.NoError(t, c.Patch(t.Context(), both, client.Apply, client.FieldOwner("neighbour"))) //nolint:staticcheck // of an object
	opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName), ensure.Retire("data[shared]", "data[dropped]")}
	e := ensure.New(c, c, taker)
	mustEnsure(t, e, settings(namespace, map[string]string{"color": "blue"}), opts...)
	require.Equal(t, map[string]string{"color": "blue", "shared": "x"}, dataOf(t, c, namespace))
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, settings(namespace, map[string]string{"color": "blue"}), opts...).Operation)
}
