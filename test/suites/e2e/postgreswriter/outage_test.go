package postgreswriter_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

const (
	cannotReach = "the database cannot be reached"
	refused     = cannotReach + ": the connection is refused"
)

// TestOutage stops the server for a while.
func TestOutage(t *testing.T) {
	t.Parallel()
	own := postgres.New(t)
	d := newDatabase(t, own, "students")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = startAllowingErrors(t, d.env(), "--watch-namespace", f.namespace, "--check-interval=10s")
	going, coming := f.withName("going"), f.withName("coming")
	for _, one := range []fixture{f, going} {
		one.create(t)
		one.waitUntilReady(t)
	}
	err := own.Stop()
	skipUnsupported(t, err)
	require.NoError(t, err)
	coming.create(t)
	going.delete(t)
	for _, one := range []fixture{f, going, coming} {
		eventually(t, func(context.Context) error {
			ready := condition(one.writer(t))
			return expect(ready.Reason == "DatabaseUnavailable" && ready.Message == refused, "%+v", ready)
		})
	}
	requirePaced(t, f)
	requirePaced(t, f) // so that the next try is some time away
	for _, one := range []fixture{f, going, coming} {
		repeated := slices.DeleteFunc(tests.Warnings(t, f.namespace, one.name, "DatabaseUnavailable"), func(note string) bool {
			return note != refused // the last message of a connection is news, too
		})
		require.Len(t, repeated, 1, "one event for all attempts")
	}
	require.NotNil(t, going.writer(t).DeletionTimestamp, "deletions wait")
	require.Equal(t, http.StatusOK, f.probe(t, "/healthz"), "a restart would help nobody")
	require.Equal(t, http.StatusInternalServerError, f.probe(t, "/readyz"))
	require.Equal(t, http.StatusOK, f.probe(t, "/readyz/caches"))

	rounds := len(f.operator.Entries("compared rows"))
	require.NoError(t, own.Restart(t.Context()))
	d.Pool.Reset()
	eventually(t, func(context.Context) error {
		return expect(f.probe(t, "/readyz") == http.StatusOK, "it is not ready")
	})
	for _, one := range []fixture{f, coming} {
		one.waitUntilReady(t)
	}
	going.waitUntilGone(t)
	woken := slices.ContainsFunc(f.operator.Entries("compared rows")[rounds:], func(round operator.Entry) bool {
		return round["woken"] != 0.0
	})
	require.True(t, woken, "the operator notices that the database is back")
	require.ElementsMatch(t, []string{f.key(), coming.key()}, d.keys(t, "students"))
}

// TestFrozenDatabase freezes the server: the readiness check ends by itself.
func TestFrozenDatabase(t *testing.T) {
	t.Parallel()
	own := postgres.New(t)
	d := newDatabase(t, own, "students")
	f := newFixtureAllowingErrors(t, d)
	require.Equal(t, http.StatusOK, f.probe(t, "/readyz/database"))
	err := own.Freeze()
	skipUnsupported(t, err)
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, f.probe(t, "/readyz/database"))
	require.NoError(t, own.Resume())
	eventually(t, func(context.Context) error {
		return expect(f.probe(t, "/readyz/database") == http.StatusOK, "it is not ready")
	})
}

// probe returns the code of the operator's health server for path.
func (f fixture) probe(t *testing.T, path string) int {
	t.Helper()
	code, err := f.operator.Probe(t.Context(), path)
	require.NoError(t, err)
	return code
}

// TestOutageWithLock stops the database server of an operator with a global lock. The operator
// ends, and waits for the lock when it is started again.
func TestOutageWithLock(t *testing.T) {
	t.Parallel()
	own := postgres.New(t)
	d := newDatabase(t, own, "students")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	args := []string{"--watch-namespace", f.namespace, "--global-lock"}
	f.operator = startAllowingErrors(t, d.env(), args...)
	f.create(t)
	f.waitUntilReady(t)

	err := own.Kill()
	skipUnsupported(t, err)
	require.NoError(t, err)
	f.change(t, `{"age":24}`)
	waitForExit(t, f.operator)
	require.Contains(t, f.operator.Log(), "an operator without the global lock may not write, so it stops")
	require.Contains(t, f.operator.Log(), "could not be reached")

	f.operator = startAllowingErrors(t, d.env(), args...)
	waitForAttempt(t, f.operator)
	require.NoError(t, own.Restart(t.Context()))
	d.Pool.Reset()
	f.waitUntilReady(t)
}

// requirePaced waits until the operator has tried once more, and requires no new message since.
func requirePaced(t *testing.T, f fixture) {
	t.Helper()
	failures := func() int { return len(f.logged("Reconciler error")) }
	mark, before := shared.Mark(), failures()
	eventually(t, func(context.Context) error {
		return expect(failures() > before, "no other try")
	})
	require.Empty(t, tests.Requests(t, mark, f.namespace), "the message does not change from try to try")
}

// waitForExit waits until an operator has ended with exit status 1.
func waitForExit(t *testing.T, process *operator.Process) {
	t.Helper()
	select {
	case <-process.Exited():
	case <-time.After(suite.Limit):
		require.Fail(t, "it did not end", lastLines(process.Log()))
	}
	require.Equal(t, "exit status 1", process.Exit())
}
