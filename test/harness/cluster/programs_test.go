package cluster_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

func TestAssetsAreUsedWhenTheyAreNamed(t *testing.T) {
	assets := t.TempDir()
	programs := processesIn(t, shared.Dir())
	for program := range programs {
		if name := filepath.Base(program); name == "etcd" || name == "kube-apiserver" {
			require.NoError(t, os.Symlink(program, filepath.Join(assets, name)))
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	c, err := cluster.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	running := processesIn(t, c.Dir())
	require.Contains(t, running, filepath.Join(assets, "etcd"))
	require.Contains(t, running, filepath.Join(assets, "kube-apiserver"))
	require.Len(t, running, 6)
}

func TestAssetsThatAreMissingAreAnError(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	_, err := cluster.Start(t.Context())
	require.ErrorContains(t, err, "cannot find etcd in KUBEBUILDER_ASSETS")
}

// TestLocalCluster starts the user's local cluster in a cache of the test's
// own, from a process that ends before the cluster is used.
func TestLocalCluster(t *testing.T) {
	cache := cacheWithPrograms(t)
	before := list(t, cache)

	output, err := helper(t, "up", "XDG_CACHE_HOME="+filepath.Dir(cache)).Output()
	require.NoError(t, err, "%s", output)
	t.Setenv("XDG_CACHE_HOME", filepath.Dir(cache))
	t.Cleanup(func() { require.NoError(t, cluster.Down(context.Background())) })
	kubeconfig, err := cluster.Up(t.Context())
	require.NoError(t, err)
	require.Equal(t, kubeconfig+"\n", string(output), "the cluster that is up already")
	_, err = cluster.Up(t.Context(), cluster.WithStorage())
	require.ErrorContains(t, err, "the local cluster is up and has no storage")

	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	_, err = clients(t, config).Discovery().ServerVersion()
	require.NoError(t, err)

	require.NoError(t, cluster.Down(t.Context()))
	require.Equal(t, before, list(t, cache))
	require.Eventually(t, func() bool {
		return len(processesIn(t, cache)) == 0
	}, limit, tick, "the supervisor itself is about to end")
	require.NoError(t, cluster.Down(t.Context()), "there is nothing to do")
}

// cacheWithPrograms is a cache folder that holds the programs in use.
func cacheWithPrograms(t *testing.T) string {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "trueup")
	require.NoError(t, os.Mkdir(cache, 0o755))
	for program := range processesIn(t, shared.Dir()) {
		folder := filepath.Dir(program)
		err := os.Symlink(folder, filepath.Join(cache, filepath.Base(folder)))
		if !os.IsExist(err) {
			require.NoError(t, err)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(cache, "local.lock"), nil, 0o644))
	return cache
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
