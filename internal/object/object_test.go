package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
