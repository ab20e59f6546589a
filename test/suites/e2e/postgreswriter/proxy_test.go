package postgreswriter_test

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A proxy is between an operator and its database.
type proxy struct {
	listener net.Listener
	server   string
	// delay is that of each direction.
	delay time.Duration
	// tls encrypts connections with the operator, unless it is nil.
	tls *tls.Config
	// sending is called with everything that the operator sends, and reports whether to pass it on to the database. It
	// may be nil.
	sending func(message string) bool
}

// newProxy starts a proxy for the database, which ends with the test.
func newProxy(t *testing.T, d *database, delay time.Duration, sending func(message string) bool) *proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	p := &proxy{listener: listener, server: net.JoinHostPort(d.variable("PSQL_HOST"), d.variable("PSQL_PORT")), delay: delay, sending: sending}
	go p.serve(t.Context())
	return p
}

// env returns the variables of an operator that connects through the proxy.
func (p *proxy) env(d *database) []string {
	port := p.listener.Addr().(*net.TCPAddr).Port
	return append(d.env(), "PSQL_HOST=127.0.0.1", "PSQL_PORT="+strconv.Itoa(port))
}

func (p *proxy) serve(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // the end of the test
		}
		go p.connect(ctx, client)
	}
}

// connect connects a client to the server.
func (p *proxy) connect(ctx context.Context, client net.Conn) {
	var err error
	if p.tls != nil {
		client, err = startTLS(client, p.tls)
	}
	var server net.Conn
	if err == nil {
		server, err = new(net.Dialer).DialContext(ctx, "tcp", p.server)
	}
	if err != nil {
		_ = client.Close()
		return
	}
	go p.forward(client, server, p.sending)
	p.forward(server, client, nil)
}

// A chunk is what came at a time.
type chunk struct {
	data []byte
	due  time.Time
}

// forward copies what one side sends to the other side, each time after the delay. So the delay does not limit
// the throughput.
func (p *proxy) forward(from, to net.Conn, sending func(string) bool) {
	chunks := make(chan chunk, 1000)
	go func() {
		defer func() { _ = to.Close() }()
		for c := range chunks {
			time.Sleep(time.Until(c.due)) //nolint:forbidigo // this is what delays, and no test that waits
			if _, err := to.Write(c.data); err != nil {
				_ = from.Close()
			}
		}
	}()
	defer close(chunks)
	for {
		data := make([]byte, 64<<10)
		n, err := from.Read(data)
		if err != nil {
			return
		}
		if sending != nil && !sending(string(data[:n])) {
			return
		}
		chunks <- chunk{data: data[:n], due: time.Now().Add(p.delay)}
	}
}

// variable returns the value of a variable of the environment.
func (d *database) variable(name string) string {
	for _, variable := range d.Environment() {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}
