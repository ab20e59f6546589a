package manifest_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
)

// folder is a file system of texts.
func folder(texts map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// render renders one manifest whose objects are ConfigMaps or Services of namespace team-a.
func render(text string, data any) ([]client.Object, error) {
	renderer := manifest.NewRenderer(folder(map[string]string{"manifest.yaml": text}), scheme.Scheme)
	return renderer.Objects("manifest.yaml", "team-a", data, &corev1.ConfigMap{}, &corev1.Service{})
}

// fault is what render says is wrong.
func fault(t *testing.T, text string, data any) *manifest.Error {
	t.Helper()
	objects, err := render(text, data)
	require.Error(t, err)
	require.Empty(t, objects)
	fault, ok := errors.AsType[*manifest.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return fault
}

// configMap has its data from line 6 on.
const configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: web
data:
`

// dataOf is the data of the one ConfigMap in objects.
func dataOf(t *testing.T, objects []client.Object) map[string]string {
	t.Helper()
	require.Len(t, objects, 1)
	configMap, ok := objects[0].(*corev1.ConfigMap)
	require.True(t, ok)
	return configMap.Data
}
