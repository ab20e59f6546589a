package binaries

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// install puts programs into dir. The kube-apiserver reports the version.
func install(t *testing.T, dir, version string, programs ...Program) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, p := range programs {
		script := "#!/bin/sh\necho Kubernetes " + version + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(p)), []byte(script), 0o755))
	}
}

// lookAt returns the installed programs among the wanted ones, and the output.
func lookAt(t *testing.T, wanted ...Program) (Paths, string, error) {
	t.Helper()
	var progress bytes.Buffer
	b, err := newBuilder(&progress)
	require.NoError(t, err)
	paths, err := b.installed(t.Context(), wanted)
	return paths, progress.String(), err
}

func TestAssets(t *testing.T) {
	pinned, err := Version()
	require.NoError(t, err)
	dir := t.TempDir()
	t.Setenv(assetsVariable, dir)

	_, _, err = lookAt(t, Cluster()...)
	require.ErrorContains(t, err, "cannot find etcd in KUBEBUILDER_ASSETS")

	install(t, dir, pinned, Etcd, APIServer)
	paths, printed, err := lookAt(t, append(Cluster(), Kubectl)...)
	require.NoError(t, err)
	require.Equal(t, Paths{Etcd: filepath.Join(dir, "etcd"), APIServer: filepath.Join(dir, "kube-apiserver")}, paths)
	require.Empty(t, printed)
	require.NoError(t, CheckVersion(t.Context()))

	install(t, dir, "v1.2.3", APIServer, Kubectl)
	paths, printed, err = lookAt(t, append(Cluster(), Kubectl)...)
	require.NoError(t, err)
	require.Len(t, paths, 3)
	require.Equal(t, "warning: "+filepath.Join(dir, "kube-apiserver")+" is v1.2.3: not the expected version, "+pinned+"\n", printed)
	require.ErrorIs(t, CheckVersion(t.Context()), ErrOtherVersion)

	paths, _, err = lookAt(t, Storage()...)
	require.NoError(t, err)
	require.Empty(t, paths)
}

func TestAssetThatDoesNotRun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(assetsVariable, dir)
	install(t, dir, "v1.2.3", Etcd)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kube-apiserver"), nil, 0o644))
	_, _, err := lookAt(t, Cluster()...)
	require.ErrorContains(t, err, "cannot ask "+filepath.Join(dir, "kube-apiserver")+" for its version")
}

func TestEnvtestFolder(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("it follows no variable")
	}
	pinned, err := Version()
	require.NoError(t, err)
	data := t.TempDir()
	t.Setenv(assetsVariable, "")
	t.Setenv("XDG_DATA_HOME", data)
	folder := filepath.Join(data, "kubebuilder-envtest", "k8s", strings.TrimPrefix(pinned, "v")+"-"+runtime.GOOS+"-"+runtime.GOARCH)

	install(t, folder, pinned, APIServer)
	paths, _, err := lookAt(t, Cluster()...)
	require.NoError(t, err)
	require.Empty(t, paths, "without its etcd it is not used")

	install(t, folder, pinned, Etcd)
	paths, printed, err := lookAt(t, Cluster()...)
	require.NoError(t, err)
	require.Equal(t, Paths{Etcd: filepath.Join(folder, "etcd"), APIServer: filepath.Join(folder, "kube-apiserver")}, paths)
	require.Empty(t, printed)

	install(t, folder, "v1.2.3", APIServer)
	paths, printed, err = lookAt(t, Cluster()...)
	require.NoError(t, err)
	require.Empty(t, paths, "the folder's name is not the program's version")
	require.Contains(t, printed, "is v1.2.3: not the expected version")

	older := filepath.Join(filepath.Dir(folder), "1.2.3-"+runtime.GOOS+"-"+runtime.GOARCH)
	require.NoError(t, os.Rename(folder, older))
	paths, _, err = lookAt(t, Cluster()...)
	require.NoError(t, err)
	require.Empty(t, paths, "another version is not used")
}
