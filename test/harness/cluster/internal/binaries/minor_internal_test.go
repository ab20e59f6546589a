package binaries

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/places"
)

// TestServerModule: TRUEUP_K8S chooses where the server programs come from, and only those.
func TestServerModule(t *testing.T) {
	root, err := places.Repository()
	require.NoError(t, err)
	pinned, err := pinnedVersion()
	require.NoError(t, err)
	for chosen, want := range map[string]string{"": "tools/cluster", minorOf(pinned): "tools/cluster", "1.33": "tools/cluster/1.33"} {
		t.Setenv(minorVariable, chosen)
		m, err := serverModule(root)
		require.NoError(t, err)
		require.Equal(t, filepath.FromSlash(want), m.dir, chosen)
	}

	t.Setenv(minorVariable, "1.33")
	version, err := Version()
	require.NoError(t, err)
	require.Equal(t, "1.33", minorOf(version))
	require.ErrorIs(t, CheckVersion(t.Context()), ErrOtherVersion)
	m, err := serverModule(root)
	require.NoError(t, err)
	require.Len(t, m.programs, 3)
	require.Equal(t, m.dir, modulesWith(m)[0].dir, "the first module wins")
	require.Len(t, modulesWith(clusterModule), len(modules))

	t.Setenv(minorVariable, "1.3")
	_, err = Build(t.Context(), io.Discard, Cluster()...)
	require.ErrorContains(t, err, `cannot build Kubernetes "1.3": set K8S to one of 1.33, 1.34, `)
}

// TestServerModulesHaveTheirVersion: a folder is named after the minor version that its module requires, and the
// staging modules are of the same version.
func TestServerModulesHaveTheirVersion(t *testing.T) {
	root, err := places.Repository()
	require.NoError(t, err)
	byMinor, err := serverModules(root)
	require.NoError(t, err)
	require.Greater(t, len(byMinor), 4)
	for minor, m := range byMinor {
		version, err := m.required(root, m.version)
		require.NoError(t, err)
		require.Equal(t, minor, minorOf(version), m.dir)
		text, err := os.ReadFile(filepath.Join(root, m.dir, "go.mod"))
		require.NoError(t, err)
		require.Contains(t, string(text), "k8s.io/apiserver => k8s.io/apiserver v0"+version[2:]+"\n")
	}
}
