package bookstore_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
)

const lease = "bookstore-operator.blog.velotio.com"

// TestInstalled checks the objects of config/default: the server accepted them and created the
// operator's pod.
func TestInstalled(t *testing.T) { tests.CheckInstalled(t) }

// TestProcess has one operator start, lead, watch, and end, and another take over.
func TestProcess(t *testing.T) {
	longform.Only(t)
	mark := shared.Mark()
	process := start(t)
	require.NotEmpty(t, tests.LeaseHolder(t, lease))
	for _, path := range []string{"/healthz", "/readyz"} {
		code, err := process.Probe(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, path)
	}
	f := newFixture(t, process)
	// StorageClasses are watched once a volume is to grow.
	f.grow(t, "3Gi")
	f.settle(t)
	require.Equal(t, map[string]bool{
		"bookstores": false, "statefulsets": true, "deployments": true, "services": false,
		"persistentvolumeclaims": false, "pods": false, "storageclasses": false,
		"replicasets": true, "events": false,
	}, watched(t, mark, ""), "of children its own only, but for Services: somebody else may have mongodb-service")

	require.NoError(t, process.Stop())
	require.Empty(t, tests.LeaseHolder(t, lease), "the lease is free for the next")
	mark = shared.Mark()
	f.operator = start(t)
	f.settle(t)
	require.Empty(t, f.requests(t, mark), "what is in place costs no write after a restart either")
}

// watched returns the resources that the operator watches in a namespace, and whether each watch
// selects by the operator's label.
func watched(t *testing.T, since cluster.Mark, namespace string) map[string]bool {
	t.Helper()
	o := installed(t)
	watches, err := shared.Requests(since, cluster.ByUser(o.User()), func(r cluster.Request) bool { return r.Verb == "watch" })
	require.NoError(t, err)
	labelled := map[string]bool{}
	for _, watch := range watches {
		if watch.Resource != "storageclasses" {
			require.Equal(t, namespace, watch.Namespace, watch.URI)
		}
		labelled[watch.Resource] = strings.Contains(watch.URI, "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dbookstore-operator")
	}
	return labelled
}

func TestWatchNamespace(t *testing.T) {
	longform.Only(t)
	inside, outside := shared.Namespace(t), shared.Namespace(t)
	mark := shared.Mark()
	f := fixture{operator: startWith(t, installed(t), "--watch-namespace", inside), namespace: outside, name: "shop"}
	f.create(t)
	f.namespace = inside
	f.create(t)
	f.settle(t)
	require.NotEmpty(t, watched(t, mark, inside))
	f.namespace = outside
	require.Empty(t, f.store(t).Finalizers)
}

func TestChildLabels(t *testing.T) {
	longform.Only(t)
	process := startWith(t, installed(t), "--child-labels", "example.org/team=blue")
	f := newFixture(t, process)
	for _, child := range f.children(t) {
		require.Equal(t, "blue", child.GetLabels()["example.org/team"], "%T", child)
	}
	uids := f.uids(t)
	require.NoError(t, process.Stop())

	// Without the flag the label goes, and nothing else happens.
	f.operator = startWith(t, installed(t))
	f.settle(t)
	for _, child := range f.children(t) {
		require.NotContains(t, child.GetLabels(), "example.org/team", "%T", child)
	}
	require.Equal(t, uids, f.uids(t), "no rollout")
}

func TestBadStarts(t *testing.T) {
	longform.Only(t)
	for arg, says := range map[string]string{
		"--oops": "flag provided but not defined: -oops",
		"oops":   `unexpected argument "oops"`,
		"--child-labels=app.kubernetes.io/managed-by=x": `"app.kubernetes.io/managed-by" is a label of the operator's own`,
		"--leader-elect":       "leader-election-namespace",
		"--restart-after=0s":   "--restart-after is 0s: give a second at least",
		"--restart-after=-1h":  "--restart-after is -1h0m0s: give a second at least",
		"--restart-after=soon": "restart-after",
	} {
		process := tests.RunToEnd(t, nil, arg)
		require.Equal(t, "exit status 1", process.Exit(), arg)
		require.Contains(t, process.Log(), says)
	}
	help := tests.RunToEnd(t, nil, "--help")
	require.Equal(t, "exit status 0", help.Exit())
	require.Contains(t, help.Log(), "restart-after")
}

// TestStatusOfOthers: somebody may write the status by hand.
func TestStatusOfOthers(t *testing.T) {
	longform.Only(t)
	f := newFixture(t, startWith(t, installed(t), "--sync-period=2s"))
	tests.CheckStatus(t, f.named(), f.isAtRest)
}
