package predicates_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
)

// A network connects informers to the API server, and can be interrupted.
type network struct {
	mu      sync.Mutex
	cut     bool
	watches map[*watchBody]string // open ones, and what they watch
	refused map[string]bool       // what was asked for while the network was cut
}

func newNetwork() *network {
	return &network{watches: map[*watchBody]string{}, refused: map[string]bool{}}
}

// wrap is for rest.Config.Wrap.
func (n *network) wrap(next http.RoundTripper) http.RoundTripper { return networkTransport{n, next} }

type networkTransport struct {
	*network
	next http.RoundTripper
}

// RoundTrip fails as in a broken network. After a refused connection, in contrast, informers resume
// their watch and miss nothing.
func (w networkTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	what := req.URL.Path + " as " + req.Header.Get("Accept")
	if w.refuses(what) {
		return nil, syscall.EHOSTUNREACH
	}
	res, err := w.next.RoundTrip(req)
	if err != nil || !req.URL.Query().Has("watch") {
		return res, err
	}
	body := &watchBody{ReadCloser: res.Body, network: w.network}
	res.Body = body
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches[body] = what
	return res, nil
}

func (n *network) refuses(what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		n.refused[what] = true
	}
	return n.cut
}

type watchBody struct {
	io.ReadCloser
	network *network
}

func (b *watchBody) Close() error {
	b.network.mu.Lock()
	delete(b.network.watches, b)
	b.network.mu.Unlock()
	return b.ReadCloser.Close()
}

// during runs do while the informers are disconnected: their watches end before, and each has tried
// in vain to resume, so that it has to list afterwards.
func (n *network) during(ctx context.Context, t *testing.T, do func()) {
	t.Helper()
	torn := n.disconnect()
	require.NotEmpty(t, torn)
	require.NoError(t, wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		return n.hasRefused(torn), nil
	}))
	do()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = false
}

func (n *network) disconnect() []string {
	n.mu.Lock()
	n.cut = true
	var bodies []io.Closer
	var torn []string
	for body, what := range n.watches {
		bodies, torn = append(bodies, body), append(torn, what)
	}
	n.mu.Unlock()
	var errs []error
	for _, body := range bodies {
		errs = append(errs, body.Close())
	}
	if errors.Join(errs...) != nil {
		return nil
	}
	return torn
}

func (n *network) hasRefused(all []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, what := range all {
		if !n.refused[what] {
			return false
		}
	}
	return true
}
