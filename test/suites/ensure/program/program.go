// Package program gives each program in the tests of package ensure its identity on the API server:
// a user agent, which is also the field manager of its updates.
package program

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// Scheme has the built-in kinds.
var Scheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, clientgoscheme.AddToScheme(scheme)
})

// Config is how the program that calls itself name reaches the server.
func Config(c *cluster.Cluster, name string) *rest.Config {
	config := c.Config()
	config.UserAgent = name
	return config
}

// Client is one without a cache.
func Client(t *testing.T, c *cluster.Cluster, name string) client.Client {
	t.Helper()
	scheme, err := Scheme()
	require.NoError(t, err)
	out, err := client.New(Config(c, name), client.Options{Scheme: scheme})
	require.NoError(t, err)
	return out
}

// Cached returns the manager's client and cache of the operator called name. The client waits for
// its own writes in the cache.
func Cached(t *testing.T, c *cluster.Cluster, name string) runtimecluster.Cluster {
	t.Helper()
	scheme, err := Scheme()
	require.NoError(t, err)
	return cluster.Cached(t, Config(c, name), runtimecluster.Options{
		Scheme: scheme,
		Client: client.Options{Cache: cluster.ReadYourWrites()},
	})
}

// Requests returns the requests of the program called name, except the lists and watches of its
// cache.
func Requests(t *testing.T, c *cluster.Cluster, since cluster.Mark, name string) []cluster.Request {
	t.Helper()
	found, err := c.Requests(since, cluster.ByUserAgent(name), func(r cluster.Request) bool {
		return r.Resource != "" && r.Verb != "list" && r.Verb != "watch"
	})
	require.NoError(t, err)
	return found
}
