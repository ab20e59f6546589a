package conformance_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// An access is how an operator reaches the API server.
type access struct {
	client    client.Client
	reader    client.Reader
	userAgent string
	reads     int // that the API server sees of a pass which finds nothing to do
	// readsItsWrites: a read of a typed object waits for this client's earlier writes.
	readsItsWrites bool
	// withoutManagedFields: the cached copies have no managed fields.
	withoutManagedFields bool
}

// modes are the sorts of clients that operators have.
var modes = []struct {
	name string
	open func(*testing.T) access
}{
	{"cache", func(t *testing.T) access { return cached(t, runtimecluster.Options{}) }},
	{"cache that reads its writes", func(t *testing.T) access { return cached(t, readingItsWrites()) }},
	{"cache without managed fields", func(t *testing.T) access { return cached(t, strippingManagedFields()) }},
	{"plain client", plain},
}

func readingItsWrites() runtimecluster.Options {
	return runtimecluster.Options{Client: client.Options{Cache: cluster.ReadYourWrites()}}
}

func strippingManagedFields() runtimecluster.Options {
	strip := cache.TransformStripManagedFields()
	return runtimecluster.Options{Cache: cache.Options{DefaultTransform: strip}}
}

// agentOf gives each client a user agent that identifies the client in the API server's audit log.
func agentOf(t *testing.T) (*rest.Config, string) {
	t.Helper()
	require.NoError(t, prepare())
	config := rest.CopyConfig(shared.Config())
	config.UserAgent = "conformance " + t.Name()
	return config, config.UserAgent
}

func plain(t *testing.T) access {
	t.Helper()
	config, agent := agentOf(t)
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return access{client: c, reader: c, userAgent: agent, reads: 1}
}

// cached returns a manager's client, which reads from informers.
func cached(t *testing.T, opts runtimecluster.Options) access {
	t.Helper()
	config, agent := agentOf(t)
	opts.Scheme = scheme
	running, reading := cluster.Cached(t, config, opts), opts.Client.Cache
	return access{
		client: running.GetClient(), reader: running.GetAPIReader(), userAgent: agent,
		readsItsWrites:       reading != nil && consistency.IsSupported(),
		withoutManagedFields: opts.Cache.DefaultTransform != nil,
	}
}

// requests returns the requests of this client that the API server received since mark and in that
// pass, without the lists and watches of informers.
func (a access) requests(t *testing.T, mark cluster.Mark, pass cluster.Filter) []cluster.Request {
	t.Helper()
	isNoInformers := func(r cluster.Request) bool { return r.Verb != "list" && r.Verb != "watch" }
	requests, err := shared.Requests(mark, cluster.ByUserAgent(a.userAgent), isNoInformers, pass)
	require.NoError(t, err)
	return requests
}

func atLeast(version, wanted string) bool {
	v, errV := strconv.ParseUint(version, 10, 64)
	w, errW := strconv.ParseUint(wanted, 10, 64)
	return errV == nil && errW == nil && v >= w
}
