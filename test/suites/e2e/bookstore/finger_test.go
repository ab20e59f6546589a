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

// A finger is a proxy between an operator and the API server. It kills the operator when the server
// has carried out a request, before the answer arrives.
type finger struct {
	server http.Handler
	pulled chan struct{} // closed when the operator is dead

	mu       sync.Mutex
	left     int
	operator *operator.Process
	request  string
}

// startMortal runs the operator behind a finger.
func startMortal(t *testing.T, o operator.Operator) (*operator.Process, *finger) {
	t.Helper()
	f := &finger{pulled: make(chan struct{})}
	behindFinger := behind(t, o, func(server http.Handler) http.Handler {
		f.server = server
		return f
	})
	return startWith(t, behindFinger), f
}

// behind returns the operator with a proxy between itself and the API server. The function wrap
// makes the proxy from a handler that forwards requests.
func behind(t *testing.T, o operator.Operator, wrap func(http.Handler) http.Handler) operator.Operator {
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

// killAfter arms the finger: it kills the operator at this write, counted from now.
func (f *finger) killAfter(writes int, process *operator.Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.operator = writes, process
}

// spare disarms the finger, unless the operator's fatal write has come, and reports whether it did.
func (f *finger) spare() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return false
	}
	f.left = -1
	return true
}

// last is the last write that came by.
func (f *finger) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.request
}

// ServeHTTP passes a request on.
func (f *finger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.URL.Query().Get("dryRun") != "" || !f.isLast(r) {
		f.server.ServeHTTP(w, r)
		return
	}
	f.server.ServeHTTP(httptest.NewRecorder(), r)
	_ = f.operator.Kill() // how it ended tells Stop
	close(f.pulled)
}

func (f *finger) isLast(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left <= 0 {
		return false
	}
	f.request = r.Method + " " + r.URL.Path
	f.left--
	return f.left == 0
}
