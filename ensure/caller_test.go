package ensure_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
)

// desiredObjects are one of each way in which an object holds its metadata.
func desiredObjects() map[string]client.Object {
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: "uid-of-friend"}}
	return map[string]client.Object{
		"typed": with(configMap(), func(o *corev1.ConfigMap) { o.Namespace, o.OwnerReferences = "", owners }),
		"typed without maps": &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "settings"}, BinaryData: map[string][]byte{"a": {1}},
		},
		"custom":      with(childShop(), func(o *Shop) { o.Namespace = "" }),
		"common base": with(kiosk(), func(o *Kiosk) { o.Namespace = "" }),
		"unstructured": with(unstructuredConfigMap(), func(o *unstructured.Unstructured) {
			o.SetNamespace("")
			o.SetOwnerReferences(owners)
			o.SetAnnotations(map[string]string{"note": "ours"})
		}),
		"unstructured without maps": &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings"},
		}},
		"metadata alone": with(partialConfigMap(), func(o *metav1.PartialObjectMetadata) { o.Namespace = "" }),
	}
}

func everySetting() []ensure.Setting {
	return []ensure.Setting{
		ensure.WithLabels(map[string]string{"team": "shops"}),
		ensure.WithDigest(hash.Default(), hash.Label("example.com/digest")),
	}
}

func TestDesiredIsNotChanged(t *testing.T) {
	for name, desired := range desiredObjects() {
		t.Run(name, func(t *testing.T) {
			before := desired.DeepCopyObject()
			s := newServer()
			e := newEnsurer(s, everySetting()...)
			owner := shop()
			for range 2 { // a create, and nothing
				result := mustEnsure(t, e, desired, ensure.ControlledBy(owner))
				require.Empty(t, cmp.Diff(before, desired))
				require.NotSame(t, desired, result.Live)
			}
			s.edit(t, live(t, s, result(t, e, desired)), `{"metadata":{"labels":null}}`)
			require.Equal(t, ensure.Updated, mustEnsure(t, e, desired, ensure.ControlledBy(owner)).Operation)
			require.Empty(t, cmp.Diff(before, desired))
			require.Empty(t, cmp.Diff(shop(), owner), "nor is the owner")
		})
	}
}

func result(t *testing.T, e *ensure.Ensurer, desired client.Object) client.Object {
	t.Helper()
	return mustEnsure(t, e, desired, ensure.ControlledBy(shop())).Live
}

// To be run with -race: all calls share one desired object, one owner and one Ensurer.
func TestDesiredMayBeSharedByConcurrentCalls(t *testing.T) {
	for name, desired := range desiredObjects() {
		t.Run(name, func(t *testing.T) {
			before := desired.DeepCopyObject()
			s := newServer()
			e := newEnsurer(s, everySetting()...)
			owner := shop()
			var group sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				group.Go(func() {
					for range 3 {
						if _, err := ensure.Object(t.Context(), e, desired, ensure.ControlledBy(owner)); err != nil {
							errs[i] = err
						}
					}
				})
			}
			group.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
			require.Empty(t, cmp.Diff(before, desired))
		})
	}
}

// To be run with -race: one Ensurer, many children, some forgotten on the way.
func TestEnsurerIsSafeForConcurrentUse(t *testing.T) {
	s := newServer()
	e := newEnsurer(s, ensure.WithMemory(3))
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() {
			for j := range 16 {
				desired := configMap()
				desired.Name = "settings-" + strconv.Itoa((i+j)%8)
				if _, err := ensure.Object(t.Context(), e, desired); err != nil {
					errs[i] = err
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	var list corev1.ConfigMapList
	require.NoError(t, s.fake.List(t.Context(), &list))
	require.Len(t, list.Items, 8)
}

// Settings are the caller's too: a map given once may be changed later.
func TestWithLabelsIsAsGiven(t *testing.T) {
	labels := map[string]string{"team": "shops"}
	s := newServer()
	e := newEnsurer(s, ensure.WithLabels(labels))
	labels["team"] = "changed"
	require.Equal(t, "shops", mustEnsure(t, e, configMap()).Live.Labels["team"])
}

func TestLiveIsTheCallersOwn(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	for range 3 { // created, confirmed by its version, confirmed by its content
		result := mustEnsure(t, e, configMap())
		result.Live.Data["color"] = "scribbled over"
		result.Live.Labels["app"] = "scribbled over"
		s.edit(t, configMap(), `{"metadata":{"labels":{"theirs":"`+result.Live.ResourceVersion+`"}}}`)
	}
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
	require.Equal(t, "blue", live(t, s, configMap()).Data["color"])
}
