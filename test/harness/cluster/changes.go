package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/trueup-go/trueup/test/harness/await"
)

// Await calls try until try returns nil. The calls are repeated when an object is written or
// deleted whose namespace or name contains about, as every object in a namespace made by
// [Cluster.Namespace] does; an empty about selects every object. They are also repeated at growing
// intervals, as not every condition depends on objects. In all else, Await behaves as await.Until:
// the error is the last one that try returned before ctx ended or the limit was over. A component
// that ends by itself ends the wait.
func (c *Cluster) Await(ctx context.Context, limit time.Duration, about string, try func(context.Context) error) error {
	writes, stop := c.changes.subscribe(c, about) //nolint:contextcheck // the watch goes on for the next waiter
	defer stop()
	return await.UntilWoken(ctx, limit, writes, func(ctx context.Context) error {
		select {
		case <-c.crashed:
			return await.Final(c.crash)
		default:
			return try(ctx)
		}
	})
}

// changes notifies waiters of writes by a watch of etcd, which begins with the first waiter. There
// are no requests to the API server, whose requests tests count.
type changes struct {
	mu      sync.Mutex
	waiters map[*waiter]bool
	watched bool
}

type waiter struct {
	about []byte
	woken chan struct{}
}

// subscribe returns a channel that receives when an object has been written, and a
// function that ends that.
func (w *changes) subscribe(c *Cluster, about string) (writes <-chan struct{}, stop func()) {
	waiting := &waiter{about: []byte(about), woken: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiters == nil {
		w.waiters = map[*waiter]bool{}
	}
	w.waiters[waiting] = true
	if !w.watched {
		w.watched = true
		go w.watch(c)
	}
	return waiting.woken, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiters, waiting)
	}
}

// wake wakes the waiters for an object with this key.
func (w *changes) wake(key []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for waiting := range w.waiters {
		if !bytes.Contains(key, waiting.about) {
			continue
		}
		select {
		case waiting.woken <- struct{}{}:
		default: // it has not looked since the last
		}
	}
}

// watch watches etcd until the cluster ends. While etcd is away, waiters look by
// themselves.
func (w *changes) watch(c *Cluster) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-c.crashed // by the supervisor's end, if by nothing else
		cancel()
	}()
	for ctx.Err() == nil {
		_ = w.watchOnce(ctx, c) // that etcd is away is nothing to tell of
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// watchRequest asks etcd's gateway for the keys of all objects that are written: from
// /registry/ to the key behind all that begin so, in base64.
const watchRequest = `{"create_request":{"key":"L3JlZ2lzdHJ5Lw==","range_end":"L3JlZ2lzdHJ5MA=="}}`

// watchOnce watches until etcd ends the answer.
func (w *changes) watchOnce(ctx context.Context, c *Cluster) error {
	transport, closeTransport, err := c.etcdTransport()
	if err != nil {
		return err
	}
	defer closeTransport()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/watch", bytes.NewReader([]byte(watchRequest)))
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answers := json.NewDecoder(response.Body)
	for {
		var answer struct {
			Result struct {
				Events []struct {
					KV struct {
						Key []byte `json:"key"`
					} `json:"kv"`
				} `json:"events"`
			} `json:"result"`
		}
		if err := answers.Decode(&answer); err != nil {
			return err
		}
		for _, event := range answer.Result.Events {
			w.wake(event.KV.Key)
		}
	}
}

// etcdTransport connects to etcd's socket.
func (c *Cluster) etcdTransport() (transport *http.Transport, closeTransport func(), err error) {
	dir, err := os.Open(c.Dir())
	if err != nil {
		return nil, nil, err
	}
	transport = &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			// The socket's full path may be longer than sockets take.
			return (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), etcdSocketFile))
		},
	}
	return transport, func() { _ = dir.Close() }, nil
}
