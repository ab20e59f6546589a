package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/paths"
)

func TestSpecifies(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"app.example.com/x": "y"}, Finalizers: []string{"example.com/f"},
		Annotations: map[string]string{canon.DigestPrefix + "x": "v1"},
	}}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "web", Ports: []corev1.ContainerPort{{ContainerPort: 80}}, Args: []string{},
	}}
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Shop",
		"spec": map[string]any{
			"rooms": []any{map[string]any{"floor": int64(1), "name": "a", "size": int64(2)}},
			"tags":  []any{"x"}, "none": nil,
		},
	}}
	const pods = "spec.template.spec."
	cases := []struct {
		reason string
		obj    canon.Object
		path   string
		want   int
	}{
		{"set", deployment, "spec.template", 2},
		{"not set", deployment, "spec.replicas", 1},
		{"a key with dots", deployment, "metadata.labels[app.example.com/x]", 3},
		{"another key", deployment, "metadata.labels[x]", 2},
		{"digests count", deployment, "metadata.annotations[" + canon.DigestPrefix + "x]", 3},
		{"an item of a set", deployment, "metadata.finalizers[example.com/f]", 3},
		{"no item of a set", deployment, "metadata.finalizers[example.com/g]", 2},
		{"an item", deployment, pods + "containers[name=web].name", 6},
		{"no item", deployment, pods + "containers[name=db].name", 4},
		{"by a default", deployment, pods + "containers[name=web].ports[containerPort=80,protocol=TCP]", 7},
		{"no other", deployment, pods + "containers[name=web].ports[containerPort=80,protocol=UDP]", 6},
		{"an empty list is a value", deployment, pods + "containers[name=web].args", 6},
		{"in a quantity anything may be", deployment, pods + "containers[name=web].resources.limits[cpu].x", 5},
		{"custom, by its keys", custom, "spec.rooms[floor=1,name=a].size", 4},
		{"custom, no such keys", custom, "spec.rooms[floor=2,name=a].size", 2},
		{"custom, of a set", custom, "spec.tags[x]", 3},
		{"custom, null", custom, "spec.none", 2},
		{"custom, unknown", custom, "spec.anything.at.all", 1},
	}
	for _, tc := range cases {
		t.Run(tc.reason, func(t *testing.T) {
			steps, err := paths.Parse(tc.path)
			require.NoError(t, err)
			depth, err := delta.Specifies(tc.obj, steps)
			require.NoError(t, err)
			require.Equal(t, tc.want, depth, tc.path)
		})
	}
	for at, obj := range map[string]canon.Object{
		"spec.replica":                deployment,
		"metadata.label":              deployment,
		"data":                        deployment,
		pods + "containers[web].name": deployment,
		pods + "containers[0].name":   deployment,
		pods + "containers[name=web].ports[containerPort=80]": deployment,
		pods + "containers[name=web].args[0]":                 deployment,
		"spec.rooms[0].size":                                  custom,
	} {
		steps, err := paths.Parse(at)
		require.NoError(t, err)
		_, err = delta.Specifies(obj, steps)
		require.Error(t, err, at)
	}
	_, err := delta.Specifies((*appsv1.Deployment)(nil), []string{"spec"})
	require.Error(t, err)
}
