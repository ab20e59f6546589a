package reversewordsapp_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
)

const lease = "1ef59d40.linuxera.org"

// TestInstalled checks the objects of config/default: the server accepted them and created the
// operator's pod.
func TestInstalled(t *testing.T) {
	o := installed(t)
	require.True(t, strings.HasPrefix(o.Namespace, "reverse-words-operator-"), o.Namespace)
	tests.CheckInstalled(t)
}

// TestProcess has one operator start, lead, watch only its own objects, and end.
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
	require.Contains(t, process.Log(), `"worker count":10`)
	f := newFixture(t, process)
	require.NotContains(t, process.Log(), v1alpha1.Finalizer, "the warning that comes with it is kept out")

	o := installed(t)
	watches, err := shared.Requests(mark, cluster.ByUser(o.User()), func(r cluster.Request) bool { return r.Verb == "watch" })
	require.NoError(t, err)
	watched := map[string]bool{}
	for _, watch := range watches {
		watched[watch.Resource] = true
		if watch.Resource != "reversewordsapps" {
			require.Contains(t, watch.URI, "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dreverse-words-operator", "its own only")
		}
	}
	require.Equal(t, map[string]bool{
		"reversewordsapps": true, "deployments": true, "services": true, "pods": true, "replicasets": true,
	}, watched)

	require.NoError(t, process.Stop())
	require.Empty(t, tests.LeaseHolder(t, lease), "the lease is free for the next")
	mark = shared.Mark()
	f.operator = start(t)
	f.settle(t)
	require.Empty(t, f.allRequests(t, mark), "what is in place costs no request after a restart either")
}

// TestWarnings has a webhook warn of every finalizer that is written, as the server warns
// of ours: that is the one that the operator does not log.
func TestWarnings(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte("apiVersion: apps.linuxera.org/v1alpha1\nkind: ReverseWordsApp\n"+
		"metadata:\n  name: by-hand\n  finalizers: ["+v1alpha1.Finalizer+"]\n"), 0o600))
	require.Contains(t, kubectl(t, "create", "-n", shared.Namespace(t), "-f", manifest), `Warning: metadata.finalizers: "`+v1alpha1.Finalizer)

	stop, err := shared.MutatingWebhook(t.Context(), "warn", []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"apps.linuxera.org"}, APIVersions: []string{"*"}, Resources: []string{"reversewordsapps"},
		},
	}}, admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Allowed("").WithWarnings("finalizers are watched")
	}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })

	process := start(t)
	newFixture(t, process)
	require.NotContains(t, process.Log(), v1alpha1.Finalizer)
	require.NotEmpty(t, process.Entries("finalizers are watched"))
}

func TestWatchNamespace(t *testing.T) {
	longform.Only(t)
	inside, outside := shared.Namespace(t), shared.Namespace(t)
	f := fixture{operator: startWith(t, installed(t), "--watch-namespace", inside), namespace: outside, name: "shop"}
	f.create(t)
	f.namespace = inside
	f.create(t)
	f.settle(t)
	f.namespace = outside
	require.Empty(t, f.app(t).Finalizers)
}

func TestChildLabels(t *testing.T) {
	longform.Only(t)
	process := startWith(t, installed(t), "--child-labels", "example.org/team=blue")
	f := newFixture(t, process)
	for kind, child := range f.children(t) {
		require.Equal(t, "blue", child.GetLabels()["example.org/team"], kind)
	}
	pods := f.podNames(t)
	require.NoError(t, process.Stop())

	// Without the flag the label goes, and nothing else happens.
	f.operator = startWith(t, installed(t))
	f.settle(t)
	for kind, child := range f.children(t) {
		require.NotContains(t, child.GetLabels(), "example.org/team", kind)
	}
	require.Equal(t, pods, f.podNames(t), "no rollout")
}

func TestBadStarts(t *testing.T) {
	longform.Only(t)
	for arg, says := range map[string]string{
		"--oops":         "flag provided but not defined: -oops",
		"--leader-elect": "leader-election-namespace",
		"--child-labels=app.kubernetes.io/managed-by=x": `"app.kubernetes.io/managed-by" is a label of the operator's own`,
	} {
		process := tests.RunToEnd(t, nil, arg)
		require.Equal(t, "exit status 1", process.Exit())
		require.Contains(t, process.Log(), says)
	}
	require.Equal(t, "exit status 0", tests.RunToEnd(t, nil, "--help").Exit())
}

// TestStatusOfOthers: somebody may write the status by hand.
func TestStatusOfOthers(t *testing.T) {
	longform.Only(t)
	f := newFixture(t, startWith(t, installed(t), "--sync-period=2s"))
	tests.CheckStatus(t, f.named(), f.isAtRest)
}
