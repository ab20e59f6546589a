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

// A wire connects informers to the API server, and can be cut.
type wire struct {
	mu      sync.Mutex
	cut     bool
	watches map[*watchBody]string // open ones, and what they watch
	refused map[string]bool       // what was asked for while the wire was cut
}

func newWire() *wire { return &wire{watches: map[*watchBody]string{}, refused: map[string]bool{}} }

// wrap is for rest.Config.Wrap.
func (w *wire) wrap(next http.RoundTripper) http.RoundTripper { return wired{w, next} }

type wired struct {
	*wire
	next http.RoundTripper
}

// RoundTrip fails as in a broken network. After a refused connection, in contrast, informers resume
// their watch and miss nothing.
func (w wired) RoundTrip(req *http.Request) (*http.Response, error) {
	what := req.URL.Path + " as " + req.Header.Get("Accept")
	if w.refuses(what) {
		return nil, syscall.EHOSTUNREACH
	}
	res, err := w.next.RoundTrip(req)
	if err != nil || !req.URL.Query().Has("watch") {
		return res, err
	}
	body := &watchBody{ReadCloser: res.Body, wire: w.wire}
	res.Body = body
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches[body] = what
	return res, nil
}

func (w *wire) refuses(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		w.refused[what] = true
	}
	return w.cut
}

type watchBody struct {
	io.ReadCloser
	wire *wire
}

func (b *watchBody) Close() error {
	b.wire.mu.Lock()
	delete(b.wire.watches, b)
	b.wire.mu.Unlock()
	return b.ReadCloser.Close()
}

// during runs do while the informers are disconnected: their watches end before, and each has tried
// in vain to resume, so that it has to list afterwards.
func (w *wire) during(ctx context.Context, t *testing.T, do func()) {
	t.Helper()
	torn := w.tear()
	require.NotEmpty(t, torn)
	require.NoError(t, wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		return w.hasRefused(torn), nil
	}))
	do()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
}

func (w *wire) tear() []string {
	w.mu.Lock()
	w.cut = true
	var bodies []io.Closer
	var torn []string
	for body, what := range w.watches {
		bodies, torn = append(bodies, body), append(torn, what)
	}
	w.mu.Unlock()
	var errs []error
	for _, body := range bodies {
		errs = append(errs, body.Close())
	}
	if errors.Join(errs...) != nil {
		return nil
	}
	return torn
}

func (w *wire) hasRefused(all []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range all {
		if !w.refused[what] {
			return false
		}
	}
	return true
}
