package program

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// Define installs the custom kind of a definition in YAML, unless another test did, and returns
// when the server lists the kind.
func Define(t *testing.T, c *cluster.Cluster, definition string, kind schema.GroupVersionKind) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(definition))
	require.NoError(t, err)
	require.NoError(t, crd.UnmarshalJSON(data))
	installer := Client(t, c, "installer")
	require.NoError(t, client.IgnoreAlreadyExists(installer.Create(t.Context(), crd)))
	probe := &unstructured.UnstructuredList{}
	probe.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	require.NoError(t, c.Await(t.Context(), time.Minute, "", func(ctx context.Context) error { return installer.List(ctx, probe) }))
}
