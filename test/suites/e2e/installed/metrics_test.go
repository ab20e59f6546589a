package installed_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// testMetrics checks who may read the metrics, which are at the address.
func (f *fixture) testMetrics(t *testing.T, address string, all installer) {
	f.testEndpoints(t, all)
	eventually(t, func(ctx context.Context) error { // the operator makes its certificate before it listens
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
	code, _ := scrape(t, address, "")
	require.Equal(t, http.StatusUnauthorized, code, "without a token")
	code, _ = scrape(t, address, token(t, f.other, "stranger"))
	require.Equal(t, http.StatusForbidden, code, "without the right")

	binding := f.prefix() + "metrics-readers"
	kubectl(t, "create", "clusterrolebinding", binding, "--clusterrole="+f.prefix()+"metrics-reader", "--serviceaccount="+f.other+":reader")
	t.Cleanup(func() {
		_, err := tryKubectl(context.Background(), "delete", "clusterrolebinding", binding)
		require.NoError(t, err)
	})
	eventually(t, func(ctx context.Context) error {
		_, err := tryKubectl(ctx, "auth", "can-i", "get", "/metrics", "--as=system:serviceaccount:"+f.other+":reader")
		return err
	})
	code, body := scrape(t, address, token(t, f.other, "reader"))
	require.Equal(t, http.StatusOK, code, "with the right")
	require.Contains(t, body, "controller_runtime_reconcile_total")
}

// token returns a token of a new ServiceAccount.
func token(t *testing.T, namespace, name string) string {
	t.Helper()
	config, err := shared.ServiceAccount(t.Context(), namespace, name)
	require.NoError(t, err)
	return config.BearerToken
}

// scrape reads the metrics with a token, if any, by a client that prefers HTTP/2.
func scrape(t *testing.T, address, token string) (code int, body string) {
	t.Helper()
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the operator signs its certificate itself
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://%s/metrics", address), http.NoBody)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1", response.Proto)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, string(text)
}
