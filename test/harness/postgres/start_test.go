package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/harness/postgres/internal/programs"
)

func TestDatabasesAreIsolated(t *testing.T) {
	alone(t)
	s := postgres.New(t)
	first, second := s.Database(t), s.Database(t)
	_, err := first.Pool.Exec(t.Context(), "CREATE TABLE students (name text)")
	require.NoError(t, err)
	_, err = second.Pool.Exec(t.Context(), "SELECT * FROM students")
	require.Equal(t, "42P01", code(t, err), "no such table")

	var gone *postgres.Database
	t.Run("test", func(t *testing.T) {
		gone = s.Database(t)
		left, err := pgx.Connect(context.Background(), url(gone.Environment()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = left.Close(context.Background()) }) // after the drop it is broken
		requireDatabases(t, s, first.Name, second.Name, gone.Name)
	})
	requireDatabases(t, s, first.Name, second.Name)
}

func requireDatabases(t *testing.T, s *postgres.Server, names ...string) {
	t.Helper()
	conn := connect(t, s.Environment())
	rows, err := conn.Query(t.Context(), "SELECT datname FROM pg_database WHERE datname LIKE 'test%' ORDER BY oid")
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(names, found, cmpopts.EquateEmpty()))
}

func TestOnlyThePasswordOpens(t *testing.T) {
	alone(t)
	d := postgres.New(t).Database(t)
	require.NoError(t, connect(t, d.Environment()).Ping(t.Context()))
	for _, password := range []string{"wrong", ""} {
		_, err := pgx.Connect(t.Context(), url(append(d.Environment(), "PSQL_PASSWORD="+password)))
		require.Equal(t, "28P01", code(t, err))
	}
	other := postgres.New(t)
	_, err := pgx.Connect(t.Context(), url(append(other.Environment(), passwordOf(d.Environment()))))
	require.Equal(t, "28P01", code(t, err), "each server has its own")
}

// TestListensOnLoopbackOnly compares all sockets of the server's processes with all
// that somebody listens at.
func TestListensOnLoopbackOnly(t *testing.T) {
	temp := alone(t)
	s := postgres.New(t)
	port := variables(s.Environment())["PSQL_PORT"]
	at := map[string]bool{} // a process that has just begun may share its parent's for a moment
	listeners := listening(t)
	for _, pid := range processesIn(t, temp) {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		require.NoError(t, err)
		for _, link := range links {
			socket, err := os.Readlink(link)
			if err != nil {
				continue // closed meanwhile
			}
			if address, found := listeners[socket]; found {
				at[address] = true
			}
		}
	}
	require.Equal(t, map[string]bool{net.JoinHostPort("127.0.0.1", port): true}, at)
}

func TestCloseLeavesNothing(t *testing.T) {
	temp := alone(t)
	for name, prepare := range map[string]func(*postgres.Server) error{
		"running": func(*postgres.Server) error { return nil },
		"stopped": (*postgres.Server).Stop,
		"killed":  (*postgres.Server).Kill,
		"frozen":  (*postgres.Server).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			s, err := postgres.Start(t.Context())
			require.NoError(t, err)
			memory := sharedMemory(t, temp)
			require.True(t, inUse(t, memory))
			require.NoError(t, prepare(s))
			require.NoError(t, s.Close())
			require.NoError(t, s.Close(), "it may be called again")
			require.Empty(t, processesIn(t, temp))
			require.True(t, isEmpty(t, temp))
			require.False(t, inUse(t, memory))
		})
	}
}

func TestKilledOwnerLeavesNothing(t *testing.T) {
	for _, name := range []string{"start", "freeze", "exhaust"} {
		t.Run(name, func(t *testing.T) {
			temp := alone(t)
			cmd := startHelper(t, name)
			require.NotEmpty(t, processesIn(t, temp))
			memory := sharedMemory(t, temp)
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			requireNothingIn(t, temp)
			require.False(t, inUse(t, memory))
		})
	}
}

func TestOwnerKilledDuringStartLeavesNothing(t *testing.T) {
	temp := alone(t)
	cmd := helper(t, "start")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return len(processesIn(t, temp)) > 0 }, limit, tick, "initdb runs")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	requireNothingIn(t, temp)
}

func TestStartThatFailsLeavesNothing(t *testing.T) {
	temp := alone(t)
	_, err := postgres.Start(t.Context(), postgres.Setting("no_such_setting", "1"))
	require.Equal(t, 1, strings.Count(err.Error(), "PostgreSQL ended: exit status 1"), "%v", err)
	require.ErrorContains(t, err, "no_such_setting", "the end of its log")
	requireNothingIn(t, temp)

	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	_, err = postgres.Start(ctx)
	require.ErrorIs(t, err, enough)
	requireNothingIn(t, temp)
}

func TestSettingWins(t *testing.T) {
	alone(t)
	s := postgres.New(t, postgres.Setting("fsync", "on"))
	var fsync string
	require.NoError(t, connect(t, s.Environment()).QueryRow(t.Context(), "SHOW fsync").Scan(&fsync))
	require.Equal(t, "on", fsync)
}

func TestMissingProgramsAreNamedWithWhatToInstall(t *testing.T) {
	alone(t)
	_, err := postgres.Start(t.Context(), postgres.Programs(t.TempDir()))
	require.ErrorIs(t, err, programs.ErrMissing)
	require.ErrorContains(t, err, "apt-get install postgresql")
	require.ErrorContains(t, err, "PSQL_HOST")
}

func TestFolderThatNobodyMayReachIsAnError(t *testing.T) {
	temp := alone(t)
	if os.Getuid() != 0 {
		t.Skip("only root has others run its servers")
	}
	require.NoError(t, os.Chmod(temp, 0o700))
	_, err := postgres.Start(t.Context())
	require.ErrorContains(t, err, "set TMPDIR")
	requireNothingIn(t, temp)
}

// connect connects until the test ends.
func connect(t *testing.T, environment []string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url(environment))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone by now
	return conn
}

// url returns the URL that an operator derives from its environment.
func url(environment []string) string {
	v := variables(environment)
	return "host=" + v["PSQL_HOST"] + " port=" + v["PSQL_PORT"] + " dbname=" + v["PSQL_DBNAME"] +
		" user=" + v["PSQL_USER"] + " password='" + v["PSQL_PASSWORD"] + "' sslmode=" + v["PSQL_SSLMODE"]
}

// variables by name; the last of a name counts.
func variables(environment []string) map[string]string {
	found := map[string]string{}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		found[name] = value
	}
	return found
}

func passwordOf(environment []string) string {
	return "PSQL_PASSWORD=" + variables(environment)["PSQL_PASSWORD"]
}

// code is PostgreSQL's code of an error.
func code(t *testing.T, err error) string {
	t.Helper()
	var answer *pgconn.PgError
	require.ErrorAs(t, err, &answer)
	return answer.Code
}
