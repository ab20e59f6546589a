package postgreswriter_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/port"
)

// TestSecrecy looks for the password wherever the operator leaves word, in good days and
// in bad ones.
func TestSecrecy(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	for name, test := range map[string]struct {
		env    []string
		reason string
		says   string
	}{
		"all is well":        {reason: "Written", says: "the row matches the spec"},
		"wrong password":     {env: []string{"PSQL_PASSWORD=" + password + "!"}, reason: "DatabaseUnavailable", says: "authentication failed"},
		"wrong user":         {env: []string{"PSQL_USER=nobody'"}, reason: "DatabaseUnavailable", says: `authentication failed for user "nobody'"`},
		"wrong database":     {env: []string{"PSQL_DBNAME=nowhere"}, reason: "DatabaseUnavailable", says: `database "nowhere" does not exist`},
		"wrong port":         {env: []string{"PSQL_PORT=1"}, reason: "DatabaseUnavailable", says: refused},
		"wrong host":         {env: []string{"PSQL_HOST=nowhere.invalid"}, reason: "DatabaseUnavailable", says: cannotReach},
		"no file but a host": {env: []string{"PSQL_HOST=/nowhere"}, reason: "DatabaseUnavailable", says: cannotReach},
		"no TLS":             {env: []string{"PSQL_SSLMODE=verify-full"}, reason: "DatabaseUnavailable", says: cannotReach},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
			metrics := reservePort(t)
			f.operator = startAllowingErrors(t, append(d.env(), test.env...), "--watch-namespace", f.namespace, "--metrics-bind-address", metrics)
			f.create(t)
			eventually(t, func(context.Context) error {
				ready := condition(f.writer(t))
				is := ready.Reason == test.reason && strings.Contains(ready.Message, test.says)
				return expect(is, "%+v; %s", ready, lastLines(f.operator.Log()))
			})
			requireNoSecret(t, "a status", kubectl(t, "get", "postgreswriters", "-n", f.namespace, "-o", "json"))

			if test.reason != "Written" {
				f.setFinalizers(t, `["`+v1.Finalizer+`"]`) // as if the row had been written before
				f.setClaim(t, f.writer(t).UID)
			}
			f.delete(t)
			if test.reason != "Written" {
				f.setFinalizers(t, "null") // then what goes wrong with its removal is told in no status
			}
			f.waitUntilGone(t)
			requireNoSecret(t, "the readiness", f.readiness(t))
			requireNoSecret(t, "an event", kubectl(t, "get", "events", "-A", "-o", "json"))
			body := scrape(t, metrics)
			require.Contains(t, body, "controller_runtime_reconcile_total")
			requireNoSecret(t, "a metric", body)
			_ = f.operator.Stop()
			require.Contains(t, f.operator.Log(), `"msg":"will write rows"`)
			requireNoSecret(t, "the log", f.operator.Log())
		})
	}
}

// reservePort returns an address for the metrics of an operator.
func reservePort(t *testing.T) string {
	t.Helper()
	reserved, err := port.Reserve(port.ReuseAddress)
	require.NoError(t, err)
	t.Cleanup(reserved.Release)
	return reserved.Address()
}

// readiness is the answer of the check of the database: it has the error.
func (f fixture) readiness(t *testing.T) string {
	t.Helper()
	for _, entry := range f.operator.Entries("starting server") {
		if entry.Text("name") == "health probe" {
			return get(t, "http://"+entry.Text("addr")+"/readyz/database")
		}
	}
	require.Fail(t, "it has no health server")
	return ""
}

func scrape(t *testing.T, address string) string {
	t.Helper()
	return get(t, "http://"+address+"/metrics")
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}
