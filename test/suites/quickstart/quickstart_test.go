// Package quickstart_test follows the quick start of the README in a new project of kubebuilder, adds kinds to the project,
// and runs the operator on a real API server, with the rights of the role that the project generates.
package quickstart_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/places"
	"github.com/trueup-go/trueup/test/harness/walkthrough"
)

const (
	// limit bounds waits that usually take a second or two.
	limit = 2 * time.Minute

	// The names that kubebuilder gives.
	namespace      = "website-system"
	serviceAccount = "website-controller-manager"

	// createAPI is the command of the quick start that raises versions.
	createAPI = "kubebuilder create api --group web --version v1 --kind "
	// scaffold is the command of cmd/trueup/README.md for a project that exists, without an installation.
	scaffold = "go run github.com/trueup-go/trueup/cmd/trueup@latest scaffold --group web --version v1 --kind "
)

// A kubebuilder is a version with which the quick start is followed.
type kubebuilder struct {
	folder string // of tools/
	// isRun is whether the operator runs on a cluster, which takes most of the time.
	isRun bool
	// isKept is whether the library requires no newer controller-runtime and k8s.io than the project.
	isKept bool
}

// kubebuilders begin with the oldest version.
var kubebuilders = []kubebuilder{
	{folder: "kubebuilder-4.6", isRun: true},
	{folder: "kubebuilder"},
	{folder: "kubebuilder-4.13", isRun: true, isKept: true},
	{folder: "kubebuilder-4.15", isRun: true, isKept: true},
	{folder: "kubebuilder-4.16", isRun: true, isKept: true},
}

// kinds are those of the project in the end: by the quick start, by the plugin with all flags, and by trueup scaffold.
var kinds = []string{"Website", "Page", "Shop"}

// TestQuickStart follows the quick start with several versions of kubebuilder, which pin several versions of
// controller-runtime.
func TestQuickStart(t *testing.T) {
	longform.Only(t)
	log.SetLogger(logr.Discard())
	blocks := readQuickStart(t)
	var rows []string
	for _, k := range kubebuilders {
		require.True(t, t.Run(k.folder, func(t *testing.T) {
			rows = append(rows, newProject(t, k).follow(t, blocks))
		}))
	}
	if len(rows) == len(kubebuilders) { // otherwise, -run chose some
		comparePage(t, rows)
	}
}

// readQuickStart returns the blocks of the quick start: one makes and tests the operator, one runs it, and one uses it.
func readQuickStart(t *testing.T) []walkthrough.Block {
	t.Helper()
	require.Contains(t, readFile(t, "cmd", "trueup", "README.md"), "\n    "+scaffold+"Website\n")
	sections, err := walkthrough.Parse(readFile(t, "README.md"))
	require.NoError(t, err)
	i := slices.IndexFunc(sections, func(s walkthrough.Section) bool { return s.Heading == "## Quick start" })
	require.GreaterOrEqual(t, i, 0)
	require.Len(t, sections[i].Blocks, 3, "blocks are no longer found")
	return sections[i].Blocks
}

// readFile returns a file of the repository.
func readFile(t *testing.T, path ...string) string {
	t.Helper()
	root, err := places.Repository()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// A project is made by a reader of the quick start, for a cluster if there is one.
type project struct {
	*walkthrough.Reader
	kubebuilder kubebuilder
	cluster     *cluster.Cluster
	operator    *operator.Operator
	process     *operator.Process
}

func newProject(t *testing.T, k kubebuilder) *project {
	t.Helper()
	r, err := walkthrough.NewReader(t.Context(), t.TempDir(), k.folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	p := &project{Reader: r, kubebuilder: k}
	if !k.isRun {
		return p
	}
	p.cluster, err = cluster.Start(t.Context(), cluster.WithKubectl())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.cluster.Stop()) })
	require.NoError(t, cluster.WriteKubeconfig(r.Kubeconfig(), p.cluster.Config()))
	r.MakeRun = p.run
	t.Cleanup(func() {
		if p.process != nil {
			require.NoError(t, p.process.Stop())
		}
	})
	return p
}

// follow follows the quick start, and returns the row of the project in docs/kubebuilder.md.
func (p *project) follow(t *testing.T, blocks []walkthrough.Block) string {
	t.Helper()
	ctx := t.Context()
	install, create, found := strings.Cut(blocks[0].Text, createAPI)
	require.True(t, found)
	require.NoError(t, p.Execute(ctx, install))
	before := readPins(t, p.Dir())
	require.NoError(t, p.Execute(ctx, createAPI+create))
	after := readPins(t, p.Dir())
	p.checkGolden(t)
	if p.kubebuilder.isKept {
		require.Equal(t, before.controllerRuntime, after.controllerRuntime)
		require.Equal(t, before.kubernetes, after.kubernetes)
	}

	p.addKinds(t)
	if p.kubebuilder.isRun {
		require.NoError(t, p.Follow(ctx, blocks[1:]))
		p.checkConverged(t)
		require.NoError(t, p.Execute(ctx, "kubectl delete page page-sample --timeout=1m")) // its finalizer goes
		require.NotContains(t, p.process.Log(), "forbidden")
	}
	require.NoError(t, p.Execute(ctx, "go vet -tags=e2e ./..."))
	// The tests need no API server, which setup-envtest would download.
	require.NoError(t, p.Execute(ctx, "make test --old-file=/bin/true ENVTEST=/bin/true"))
	p.checkEdited(t)
	return row(before, after)
}

// checkGolden compares the operator with that of the repository, which has no licence of the project.
func (p *project) checkGolden(t *testing.T) {
	t.Helper()
	for _, name := range []string{"website_controller.go", "website_controller_test.go"} {
		path := filepath.Join("internal", "controller", name)
		_, written, _ := strings.Cut(read(t, p.Dir(), path), "package controller\n")
		_, golden, _ := strings.Cut(readFile(t, "cmd", "trueup", "internal", "scaffold", "testdata", "golden", path), "package controller\n")
		require.Empty(t, cmp.Diff(golden, written))
	}
}

// addKinds adds a kind by the plugin with all flags, and one by the command, as in a project that exists: of operator-sdk's
// layout, whose PROJECT names its own plugins.
func (p *project) addKinds(t *testing.T) {
	t.Helper()
	for _, commands := range []string{
		"git init --quiet && git add --all", // kubebuilder sends all files to its plugins
		createAPI + "Page --resource --controller --plugins go/v4,trueup/v1 --children deployment,service,configmap --finalizer",
		createAPI + "Shop --resource --controller",
		`printf 'plugins:\n  manifests.sdk.operatorframework.io/v2: {}\n  scorecard.sdk.operatorframework.io/v2: {}\n' >>PROJECT`,
		scaffold + "Shop",
		"go mod tidy && make build && go test ./internal/...",
	} {
		require.NoError(t, p.Execute(t.Context(), commands))
	}
}

// checkEdited requires that an edited controller is left alone, with everything else.
func (p *project) checkEdited(t *testing.T) {
	t.Helper()
	for _, commands := range []string{
		createAPI + "Note --resource --controller",
		"sed -i 's|TODO(user): your logic here|Done.|' internal/controller/note_controller.go && git add --all",
		"if " + scaffold + "Note; then exit 1; fi",
		`git diff --exit-code && test -z "$(git ls-files --others --exclude-standard)"`,
	} {
		require.NoError(t, p.Execute(t.Context(), commands))
	}
}

// run runs the operator with the rights of the ServiceAccount that `make deploy` creates.
func (p *project) run(ctx context.Context) error {
	// The admission plugin OwnerReferencesPermissionEnforcement has to know the kinds when it first sees an owner.
	if err := p.Execute(ctx, "kubectl wait crd --all --for=condition=Established --timeout=2m"); err != nil {
		return err
	}
	if err := p.Execute(ctx, "make deploy IMG=example.com/website:v1"); err != nil {
		return err
	}
	config, err := p.cluster.ServiceAccount(ctx, namespace, serviceAccount)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(p.Home(), "operator.kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, config); err != nil {
		return err
	}
	p.operator = operator.Of(filepath.Join(p.Dir(), "bin", "manager"), kubeconfig)
	return p.start(ctx)
}

func (p *project) start(ctx context.Context) error {
	process, err := p.operator.Start(ctx, "--zap-devel=false")
	p.process = process
	return err
}

// checkConverged requires that the operator writes nothing after a restart, and that no request is refused.
func (p *project) checkConverged(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	admin, err := client.New(p.cluster.Config(), client.Options{Scheme: scheme.Scheme})
	require.NoError(t, err)
	for _, kind := range kinds {
		require.NoError(t, p.cluster.Await(ctx, limit, "default", func(ctx context.Context) error {
			return operator.RolledOut(ctx, admin, client.ObjectKey{Namespace: "default", Name: sample(kind)})
		}), p.process.Log())
		require.NoError(t, p.Execute(ctx, "kubectl wait "+strings.ToLower(kind)+" "+sample(kind)+" --for=condition=Ready --timeout=1m"))
	}
	for _, command := range []string{ // which takes the right to delete the child, as the cluster enforces it
		`kubectl patch deployment website-sample --type=json --patch='[{"op": "remove", "path": "/metadata/ownerReferences"}]'`,
		"kubectl wait deployment website-sample --for=jsonpath='{.metadata.ownerReferences[0].kind}'=Website --timeout=1m",
	} {
		require.NoError(t, p.Execute(ctx, command), p.process.Log())
	}
	p.restart(t) // ends what the operator has begun

	mark := p.cluster.Mark()
	p.restart(t)
	writes, err := p.cluster.Requests(mark, cluster.ByUser("system:serviceaccount:"+namespace+":"+serviceAccount), cluster.Writes)
	require.NoError(t, err)
	require.Empty(t, writes, p.process.Log())
	require.NotContains(t, p.process.Log(), "forbidden")
}

// sample returns the name that kubebuilder gives the sample of a kind.
func sample(kind string) string { return strings.ToLower(kind) + "-sample" }

// restart stops the operator, starts it again, and waits until it has reconciled the samples.
func (p *project) restart(t *testing.T) {
	t.Helper()
	require.NoError(t, p.process.Stop())
	require.NoError(t, p.start(t.Context()))
	require.NoError(t, p.cluster.Await(t.Context(), limit, "default", func(context.Context) error {
		for _, kind := range kinds {
			if p.process.Reconciles(kind, "default", sample(kind)) == 0 {
				return errors.New("the operator has not reconciled the " + kind)
			}
		}
		return nil
	}), p.process.Log())
}
