// Package quickstart_test follows the quick start of the README in a new project of kubebuilder, and runs the operator
// on a real API server, with the rights of the role that the project generates.
package quickstart_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
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
)

// kubebuilders are the folders of tools/ with a kubebuilder, the newest one last.
func kubebuilders() []string { return []string{"kubebuilder-4.6", "kubebuilder", "kubebuilder-4.16"} }

// TestQuickStart follows the quick start with the newest kubebuilder, and with older ones, which pin older versions of
// controller-runtime.
func TestQuickStart(t *testing.T) {
	longform.Only(t)
	log.SetLogger(logr.Discard())
	blocks := readQuickStart(t)
	var rows []string
	for _, kubebuilder := range kubebuilders() {
		require.True(t, t.Run(kubebuilder, func(t *testing.T) {
			rows = append(rows, newProject(t, kubebuilder).follow(t, blocks))
		}))
	}
	comparePage(t, rows)
}

// readQuickStart returns the blocks of the quick start.
func readQuickStart(t *testing.T) []walkthrough.Block {
	t.Helper()
	sections, err := walkthrough.Parse(readReadme(t))
	require.NoError(t, err)
	i := slices.IndexFunc(sections, func(s walkthrough.Section) bool { return s.Heading == "## Quick start" })
	require.GreaterOrEqual(t, i, 0)
	require.Greater(t, len(sections[i].Blocks), 8, "blocks are no longer found")
	return sections[i].Blocks
}

func readReadme(t *testing.T) string {
	t.Helper()
	root, err := places.Repository()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	return string(text)
}

// A project is made by a reader of the quick start, for a cluster.
type project struct {
	*walkthrough.Reader
	cluster  *cluster.Cluster
	operator *operator.Operator
	process  *operator.Process
}

func newProject(t *testing.T, kubebuilder string) *project {
	t.Helper()
	c, err := cluster.Start(t.Context(), cluster.WithKubectl())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	r, err := walkthrough.NewReader(t.Context(), t.TempDir(), kubebuilder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	require.NoError(t, cluster.WriteKubeconfig(r.Kubeconfig(), c.Config()))
	p := &project{Reader: r, cluster: c}
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
	require.NoError(t, p.Follow(ctx, blocks[:1]))
	before := readPins(t, p.Dir())
	require.NoError(t, p.Follow(ctx, blocks[1:]))
	after := readPins(t, p.Dir())
	checkDockerfile(t, after)

	p.checkConverged(t)
	require.NoError(t, p.Execute(ctx, "go vet -tags=e2e ./..."))
	// The tests need no API server, which setup-envtest would download.
	require.NoError(t, p.Execute(ctx, "make test --old-file=/bin/true ENVTEST=/bin/true"))
	return row(before, after)
}

// run runs the operator with the rights of the ServiceAccount that `make deploy` creates.
func (p *project) run(ctx context.Context) error {
	// The admission plugin OwnerReferencesPermissionEnforcement has to know the kind when it first sees an owner.
	if err := p.Execute(ctx, "kubectl wait crd/websites.web.example.com --for=condition=Established --timeout=2m"); err != nil {
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
	require.NoError(t, p.cluster.Await(ctx, limit, "default", func(ctx context.Context) error {
		return operator.RolledOut(ctx, admin, client.ObjectKey{Namespace: "default", Name: "shop"})
	}), p.process.Log())
	p.restart(t) // ends what the operator has begun

	mark := p.cluster.Mark()
	p.restart(t)
	writes, err := p.cluster.Requests(mark, cluster.ByUser("system:serviceaccount:"+namespace+":"+serviceAccount), cluster.Writes)
	require.NoError(t, err)
	require.Empty(t, writes, p.process.Log())
	require.NotContains(t, p.process.Log(), "forbidden")
	require.NoError(t, p.Execute(ctx, "kubectl wait website shop --for=condition=Ready --timeout=1s"))
}

// restart stops the operator, starts it again, and waits until it has reconciled the Website.
func (p *project) restart(t *testing.T) {
	t.Helper()
	require.NoError(t, p.process.Stop())
	require.NoError(t, p.start(t.Context()))
	require.NoError(t, p.cluster.Await(t.Context(), limit, "default", func(context.Context) error {
		if p.process.Reconciles("Website", "default", "shop") == 0 {
			return errors.New("the operator has not reconciled the Website")
		}
		return nil
	}), p.process.Log())
}
