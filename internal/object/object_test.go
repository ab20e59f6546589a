package object_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/object"
)

type embedding struct {
	metav1.TypeMeta
	*metav1.ObjectMeta
}

func TestIsUnusable(t *testing.T) {
	for name, tc := range map[string]struct {
		obj  metav1.Object
		want bool
	}{
		"nil":                                 {nil, true},
		"a nil pointer":                       {(*corev1.Pod)(nil), true},
		"an embedded nil pointer":             {&embedding{}, true},
		"an embedded nil pointer, no pointer": {embedding{}, true},
		"an embedded pointer":                 {&embedding{ObjectMeta: &metav1.ObjectMeta{}}, false},
		"a struct":                            {&corev1.Pod{}, false},
		"unstructured":                        {&unstructured.Unstructured{}, false},
	} {
		require.Equal(t, tc.want, object.IsUnusable(tc.obj), name)
	}
}

func TestIsNil(t *testing.T) {
	require.True(t, object.IsNil(nil))
	require.True(t, object.IsNil((*int)(nil)))
	require.True(t, object.IsNil(map[string]int(nil)))
	require.True(t, object.IsNil((func())(nil)))
	require.False(t, object.IsNil(0))
	require.False(t, object.IsNil(new(0)))
}

// A content is unstructured, and of another Go type than unstructured.Unstructured.
type content struct{ unstructured.Unstructured }

// A byValue is an object that is no pointer.
type byValue struct{ client.Object }

func TestNew(t *testing.T) {
	deployments := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	for name, tc := range map[string]struct {
		reason string
		like   client.Object
		want   schema.GroupVersionKind
	}{
		"a struct":                          {"the Go type tells the kind", &appsv1.Deployment{}, schema.GroupVersionKind{}},
		"unstructured":                      {"the object tells its kind", &unstructured.Unstructured{}, deployments},
		"another type that is unstructured": {"the object tells its kind", &content{}, deployments},
		"metadata":                          {"the object tells its kind", &metav1.PartialObjectMetadata{}, deployments},
	} {
		tc.like.SetName("web")
		made := object.New(tc.like, "apps/v1", "Deployment")
		require.Equal(t, reflect.TypeOf(tc.like), reflect.TypeOf(made), name)
		require.Empty(t, made.GetName(), name)
		require.Equal(t, tc.want, made.GetObjectKind().GroupVersionKind(), "%s: %s", name, tc.reason)
	}
	require.Nil(t, object.New(byValue{}, "apps/v1", "Deployment"), "nothing can be read into it")
}

func TestIsPatchMisrecorded(t *testing.T) {
	require.True(t, object.IsPatchMisrecorded(&unstructured.Unstructured{}))
	require.True(t, object.IsPatchMisrecorded(&content{}))
	require.False(t, object.IsPatchMisrecorded(&corev1.Pod{}))
	require.False(t, object.IsPatchMisrecorded(&metav1.PartialObjectMetadata{}))
}

type gauge struct {
	metav1.TypeMeta `json:",inline"`

	Limit  uint64              `json:"limit"`
	Limits []map[string]uint64 `json:"limits"`
}

func (g *gauge) DeepCopyObject() runtime.Object { return g }

// A Go type with a field of type uint64 looks the same under each version of apimachinery.
func TestContent(t *testing.T) {
	content, err := object.Content(&gauge{Limit: 4, Limits: []map[string]uint64{{"a": 5}}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"limit": int64(4), "limits": []any{map[string]any{"a": int64(5)}}}, content)
	_, err = object.Content(&gauge{Limits: []map[string]uint64{{"a": math.MaxUint64}}})
	require.ErrorContains(t, err, "fit into int64")
}
