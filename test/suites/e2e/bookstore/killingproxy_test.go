package bookstore_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// A killingProxy is a proxy between an operator and the API server. It kills the operator when the server
// has carried out a request, before the answer arrives.
type killingProxy struct {
	server http.Handler
	killed chan struct{} // closed when the operator is dead

	mu         sync.Mutex
	writesLeft int
	operator   *operator.Process
	request    string
}

// startBehindKillingProxy runs the operator behind a killingProxy.
func startBehindKillingProxy(t *testing.T, o operator.Operator) (*operator.Process, *killingProxy) {
	t.Helper()
	f := &killingProxy{killed: make(chan struct{})}
	proxied := behindProxy(t, o, func(server http.Handler) http.Handler {
		f.server = server
		return f
	})
	return startWith(t, proxied), f
}

// behindProxy returns the operator with a proxy between itself and the API server. The function wrap
// makes the proxy from a handler that forwards requests.
func behindProxy(t *testing.T, o operator.Operator, wrap func(http.Handler) http.Handler) operator.Operator {
	t.Helper()
	config, err := shared.ServiceAccount(t.Context(), o.Namespace, o.ServiceAccount)
	require.NoError(t, err)
	server, err := url.Parse(config.Host)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(server)
	proxy.FlushInterval = -1 // watches are streams
	proxy.Transport, err = rest.TransportFor(&rest.Config{TLSClientConfig: config.TLSClientConfig})
	require.NoError(t, err)
	front := httptest.NewTLSServer(wrap(proxy)) // without TLS client-go keeps its token to itself
	t.Cleanup(front.CloseClientConnections)

	config.Host, config.TLSClientConfig = front.URL, rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}),
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(kubeconfig, config))
	o.Env = append(o.Env, "KUBECONFIG="+kubeconfig)
	return o
}

// killAfter arms the proxy: it kills the operator at this write, counted from now.
func (p *killingProxy) killAfter(writes int, process *operator.Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writesLeft, p.operator = writes, process
}

// disarm disarms the proxy, unless it has killed the operator, and reports whether it did.
func (p *killingProxy) disarm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writesLeft == 0 {
		return false
	}
	p.writesLeft = -1
	return true
}

// lastRequest is the last write that came by.
func (p *killingProxy) lastRequest() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.request
}

// ServeHTTP passes a request on.
func (p *killingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.URL.Query().Get("dryRun") != "" || !p.isLast(r) {
		p.server.ServeHTTP(w, r)
		return
	}
	p.server.ServeHTTP(httptest.NewRecorder(), r)
	_ = p.operator.Kill() // how it ended tells Stop
	close(p.killed)
}

func (p *killingProxy) isLast(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writesLeft <= 0 {
		return false
	}
	p.request = r.Method + " " + r.URL.Path
	p.writesLeft--
	return p.writesLeft == 0
}
