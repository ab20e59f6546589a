package main

import (
	"bytes"
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
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/tools/demo/existing"
)

var shared *cluster.Cluster

// The tests use this cluster as if somebody else had started it. It has no nodes, so that no pod ever gets ready.
func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared, cluster.WithKubectl(), cluster.Nodes(0)))
}

func TestExistingCluster(t *testing.T) {
	// It has a name like those of the demo. It is not deleted, which would take a while, and disturb the next test.
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "trueup-demo-"}}
	require.NoError(t, admin(t).Create(t.Context(), foreign))
	before := objects(t)

	// An earlier demo was killed after it had installed one of the operators and created a namespace.
	killed, err := existing.Open(kubeconfig(t))
	require.NoError(t, err)
	require.NoError(t, killed.Install(t.Context(), "site"))
	_, err = killed.Namespace(t.Context())
	require.NoError(t, err)
	require.NoError(t, killed.Close())

	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-kubeconfig", kubeconfig(t)}, &out), "%s", &out)
	for _, line := range []string{
		"Using the existing cluster https://127.0.0.1:",
		"Skipped: the story of bookstore, as it takes the simulated volumes of the demo's own cluster.\n",
		"Skipped: the story of postgreswriter, as it takes a PostgreSQL server of the demo's own.\n",
		"7. Skipped: an image that cannot be pulled. It takes nodes that simulate pods.\n",
		"8. Skipped: a change in another version. The API server would have to reach the webhook on this machine.\n",
		"   requests  1 Created Deployment, 1 Created Secret, 1 Created Service\n",
		"   operator  updated Deployment, Drifted: spec.replicas 5 -> 1\n",
		"   operator  updated ReverseWordsApp, Drifted: spec.replicas 5 -> 2\n",
		"   requests  0 for children, dry runs included\n",
		"trueup_ensure_requests_total",
	} {
		require.Contains(t, out.String(), line)
	}
	require.Equal(t, 3, strings.Count(out.String(), "Everything came true.\n"), "%s", &out)
	requireObjects(t, before)
}

func TestInterrupt(t *testing.T) {
	longform.Only(t)
	before := objects(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := &interrupter{word: "2. It gets a second pod.", interrupt: cancel} // the ReverseWordsApp has a finalizer by then
	require.ErrorIs(t, run(ctx, []string{"-kubeconfig", kubeconfig(t)}, out), context.Canceled)
	require.Contains(t, out.String(), out.word)
	requireObjects(t, before)
}

// An interrupter interrupts the demo when it prints a word.
type interrupter struct {
	bytes.Buffer

	word      string
	interrupt func()
}

func (i *interrupter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(i.word)) {
		i.interrupt()
	}
	return i.Buffer.Write(p)
}

func TestExistingObject(t *testing.T) {
	longform.Only(t)
	foreign := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "site-operator-manager-role"}}
	require.NoError(t, admin(t).Create(t.Context(), foreign))
	t.Cleanup(func() { require.NoError(t, admin(t).Delete(context.Background(), foreign)) })
	before := objects(t)

	var out bytes.Buffer
	err := run(t.Context(), []string{"-kubeconfig", kubeconfig(t)}, &out)
	require.EqualError(t, err,
		"ClusterRole site-operator-manager-role exists already, and the demo did not make it: use another cluster, or delete it first")
	require.NotContains(t, out.String(), "1. ")
	requireObjects(t, before)
}

// kubeconfig returns the path of a file as kind writes it.
func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(path, shared.Config()))
	return path
}

func admin(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(shared.Config(), client.Options{})
	require.NoError(t, err)
	return c
}

// requireObjects requires that the cluster has exactly these objects once controllers have caught up.
func requireObjects(t *testing.T, want map[string]string) {
	t.Helper()
	require.NoError(t, shared.Await(t.Context(), time.Minute, "", func(context.Context) error {
		if difference := cmp.Diff(want, objects(t)); difference != "" {
			return errors.New(difference)
		}
		return nil
	}))
}

// objects returns the versions of all objects by resource, namespace and name. It leaves out events, which stay for an hour,
// leases, which are renewed all the time, endpoints, which are deprecated, and what controllers put into every namespace,
// as that can outlive a namespace that is deleted at this moment.
func objects(t *testing.T) map[string]string {
	t.Helper()
	discovered, err := discovery.NewDiscoveryClientForConfig(shared.Config())
	require.NoError(t, err)
	reader, err := metadata.NewForConfig(shared.Config())
	require.NoError(t, err)
	lists, err := discovered.ServerPreferredResources()
	require.NoError(t, err)
	found := map[string]string{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for i := range list.APIResources {
			resource := list.APIResources[i].Name
			if slices.Contains([]string{"events", "leases", "endpoints"}, resource) {
				continue
			}
			all, err := reader.Resource(group.WithResource(resource)).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for j := range all.Items {
				object := &all.Items[j]
				if slices.Contains([]string{"serviceaccounts/default", "configmaps/kube-root-ca.crt"}, resource+"/"+object.Name) {
					continue
				}
				found[resource+" "+object.Namespace+"/"+object.Name] = string(object.UID) + " " + object.ResourceVersion
			}
		}
	}
	return found
}
