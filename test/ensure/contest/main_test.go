// Package contest_test has package ensure meet rivals on a real API server: others who undo
// what it writes, and those who only look as if they did.
package contest_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/cluster"
)

const (
	// limit is how long a test waits for anything.
	limit = time.Minute
	// tick is the time between two looks.
	tick = 20 * time.Millisecond
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared))
}

var newScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, clientgoscheme.AddToScheme(scheme)
})

// configOf is how the program that calls itself name reaches the server.
func configOf(name string) *rest.Config {
	config := shared.Config()
	config.UserAgent = name
	return config
}

// newClient is a client without a cache, of a program that calls itself name: what it
// writes by Update it owns under that name.
func newClient(t *testing.T, name string) client.Client {
	t.Helper()
	scheme, err := newScheme()
	require.NoError(t, err)
	c, err := client.New(configOf(name), client.Options{Scheme: scheme})
	require.NoError(t, err)
	return c
}

// requests are what the program that calls itself name asked of the server, lists and
// watches of its cache aside.
func requests(t *testing.T, since cluster.Mark, name string) []cluster.Request {
	t.Helper()
	found, err := shared.Requests(since, cluster.ByUserAgent(name), func(r cluster.Request) bool {
		return r.Resource != "" && r.Verb != "list" && r.Verb != "watch"
	})
	require.NoError(t, err)
	return found
}
