package articles_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// limit bounds waits for operations that usually take a second or two. In a new cluster, the
// garbage collector may need half a minute and more.
const limit = 3 * time.Minute

// A reader sits at a shell, in the folder of the operator's project, with a kubectl and a
// cluster that he may do everything in.
type reader struct {
	// home is the reader's home folder, and dir the project's folder below home.
	home, dir string
	// environment is the initial environment of the reader's shell.
	environment []string
	// events are the events of this article test, and of every one.
	events map[string]event

	cluster  *cluster.Cluster
	clients  kubernetes.Interface
	operator *operator.Operator
	process  *operator.Process
}

// newReader starts a cluster, and gives the reader the operator's project, with the article's
// manifests instead of the project's own.
func newReader(t *testing.T, p articleTest, a *article) *reader {
	t.Helper()
	c, err := cluster.Start(t.Context(), p.options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	built, err := operator.Build(t.Context(), c, p.name)
	require.NoError(t, err)
	clients, err := kubernetes.NewForConfig(c.Config())
	require.NoError(t, err)

	home := t.TempDir()
	r := &reader{home: home, dir: filepath.Join(home, a.Folder), cluster: c, clients: clients, operator: built}
	r.events = maps.Clone(p.happens)
	if r.events == nil {
		r.events = map[string]event{}
	}
	r.events["the operator starts"] = startOperator
	r.events["the operator ends with its pod"] = endOperator
	r.unpack(t, p.name)
	r.writeKubeconfig(t, a.Environment)
	return r
}

// unpack puts the project in place. The article's manifests are the operator's samples.
func (r *reader) unpack(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, os.CopyFS(r.dir, os.DirFS(r.operator.Dir)))
	const script = "check-objects.sh" // of all operators
	check, err := os.ReadFile(filepath.Join(r.operator.Dir, "..", script))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "..", script), check, 0o755)) //nolint:gosec // it is executable
	samples := filepath.Join(r.dir, "config", "samples")
	ours := objects(t, samples)
	require.NoError(t, os.RemoveAll(samples))
	files := filepath.Join("testdata", name, "files")
	if _, err := os.Stat(files); errors.Is(err, fs.ErrNotExist) {
		return // they are in the lines
	}
	for object, manifest := range objects(t, files) {
		require.Empty(t, cmp.Diff(manifest, ours[object]), "the sample %s is not that of the article", object)
	}
	require.NoError(t, os.CopyFS(r.dir, os.DirFS(files)))
}

// objects returns the objects in the YAML files below a folder, one in each, by kind and name.
func objects(t *testing.T, dir string) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var u unstructured.Unstructured
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			return err
		}
		found[u.GetKind()+" "+u.GetName()] = u.Object
		return nil
	}))
	return found
}

// writeKubeconfig puts kubectl into the reader's path and the cluster into a kubeconfig.
// Of the environment of the tests nothing else is his: they may be run by make.
func (r *reader) writeKubeconfig(t *testing.T, filledIn map[string]string) {
	t.Helper()
	kubectl, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	programs := filepath.Join(r.home, "bin")
	require.NoError(t, os.Mkdir(programs, 0o755))
	require.NoError(t, os.Symlink(kubectl, filepath.Join(programs, "kubectl")))
	kubeconfig := filepath.Join(r.home, "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(kubeconfig, r.cluster.Config()))
	r.environment = []string{
		"HOME=" + r.home, "PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig,
	}
	for name, value := range filledIn {
		r.environment = append(r.environment, name+"="+value)
	}
	require.NoError(t, os.WriteFile(r.variablesFile(), nil, 0o600))
}

// runLine runs a line and returns the output. Later lines see the variables that the line sets.
func (r *reader) runLine(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	const script = `set -a; . "$0"; eval "$1"; ended=$?; export -p >"$0"; exit $ended`
	shell := exec.CommandContext(ctx, "sh", "-c", script, r.variablesFile(), line)
	shell.Dir, shell.Env = r.dir, r.environment
	printed, err := shell.CombinedOutput()
	return string(printed), err
}

// variablesFile returns the file with the variables that the lines have set.
func (r *reader) variablesFile() string { return filepath.Join(r.home, ".remembered") }

// eventually calls try until try succeeds.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	require.NoError(t, await.Until(t.Context(), limit, func(context.Context) error { return try() }), what)
}
