package postgreswriter_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestMetrics reads the operator's metrics after each kind of write and failure.
func TestMetrics(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	address := reservePort(t)
	f := newFixtureWithOwnOperator(t, d, "--tables=students,teachers,missing", "--metrics-bind-address", address)
	expected := map[string]string{
		`row_writes_total{operation="insert"}`: "0",
		`row_writes_total{operation="update"}`: "0",
		`row_writes_total{operation="delete"}`: "0",
		`row_writes_total{operation="move"}`:   "0",
		`database_errors_total`:                "0",
		`rows{table="students"}`:               "0",
		`rows{table="teachers"}`:               "0",
		`rows{table="missing"}`:                "0",
	}
	become := func(changed ...string) {
		t.Helper()
		for i := 0; i < len(changed); i += 2 {
			expected[changed[i]] = changed[i+1]
		}
		eventually(t, func(context.Context) error {
			diff := cmp.Diff(expected, samples(t, address))
			return expect(diff == "", "%s", diff)
		})
	}
	become()
	f.create(t)
	f.waitUntilReady(t)
	become(`row_writes_total{operation="insert"}`, "1", `rows{table="students"}`, "1")
	f.change(t, `{"age":24}`)
	f.waitUntilReady(t)
	become(`row_writes_total{operation="update"}`, "1")
	f.change(t, `{"table":"teachers"}`)
	f.waitUntilReady(t)
	become(`row_writes_total{operation="move"}`, "1", `rows{table="students"}`, "0", `rows{table="teachers"}`, "1")
	f.reconcile(t)
	become()

	stranger, unlisted, missing := f.withName("stranger"), f.withName("unlisted"), f.withName("missing")
	d.insert(t, "students", stranger.key(), berta)
	stranger.create(t)
	stranger.waitForReason(t, "RowExists")
	unlisted.create(t, inTable("unlisted"))
	unlisted.waitForReason(t, "TableNotAllowed")
	become() // the database is not to blame
	missing.create(t, inTable("missing"))
	missing.waitForReason(t, "TableMissing")
	become(`database_errors_total`, "1")

	f.setClaim(t, "another")
	f.touch(t)
	f.waitForReason(t, "RowExists")
	become(`rows{table="teachers"}`, "0") // it is somebody else's row now
	d.exec(t, "delete from teachers")
	f.reconcile(t)
	f.waitUntilReady(t)
	become(`row_writes_total{operation="insert"}`, "2", `rows{table="teachers"}`, "1")
	f.delete(t)
	f.waitUntilGone(t)
	become(`row_writes_total{operation="delete"}`, "1", `rows{table="teachers"}`, "0")
}

// samples are the operator's own metrics.
func samples(t *testing.T, address string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(scrape(t, address)) {
		if sample, ok := strings.CutPrefix(line, "postgreswriter_"); ok {
			name, value, _ := strings.Cut(strings.TrimSpace(sample), " ")
			found[name] = value
		}
	}
	return found
}

// TestGlobalLockMetric has two operators, of which one holds the lock. Both are ready, since the
// database answers.
func TestGlobalLockMetric(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	const held = "global_lock_held"
	namespace, addresses := shared.Namespace(t), []string{reservePort(t), reservePort(t)}
	instance := func(address string) fixture {
		args := []string{"--watch-namespace", namespace, "--global-lock", "--metrics-bind-address", address}
		return fixture{database: d, namespace: namespace, name: "alex", operator: startAllowingErrors(t, d.env(), args...)}
	}
	active := instance(addresses[0])
	waitForWorkers(t, active.operator)
	passive := instance(addresses[1])
	waitForAttempt(t, passive.operator)
	require.Equal(t, "1", samples(t, addresses[0])[held])
	require.Equal(t, "0", samples(t, addresses[1])[held])
	require.Equal(t, http.StatusOK, active.probe(t, "/readyz"))
	require.Equal(t, http.StatusOK, passive.probe(t, "/readyz"))

	require.NoError(t, active.operator.Stop())
	waitForWorkers(t, passive.operator)
	require.Equal(t, "1", samples(t, addresses[1])[held])
}
