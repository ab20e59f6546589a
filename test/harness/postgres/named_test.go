package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/postgres"
)

func TestServerThatTheEnvironmentNamesIsUsed(t *testing.T) {
	temp := alone(t)
	host := postgres.New(t)
	setenv(t, host.Environment())
	t.Run("test", func(t *testing.T) {
		s := postgres.New(t)
		requireFolders(t, temp, 1)
		d := s.Database(t)
		require.Equal(t, variables(host.Environment())["PSQL_PORT"], variables(d.Environment())["PSQL_PORT"])
		requireDatabases(t, host, d.Name)
		require.Equal(t, postgres.Writes{}, written(t, d))
		for verb, do := range map[string]func() error{
			"stop": s.Stop, "kill": s.Kill, "freeze": s.Freeze, "resume": s.Resume,
			"restart": func() error { return s.Restart(t.Context()) },
		} {
			err := do()
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "cannot "+verb+" the server that PSQL_HOST names")
		}
	})
	requireDatabases(t, host)
	require.NoError(t, connect(t, host.Environment()).Ping(t.Context()), "it goes on")
	_, err := postgres.Start(t.Context(), postgres.Setting("fsync", "on"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestServerThatIsNamedWronglyIsAnError(t *testing.T) {
	alone(t)
	setenv(t, postgres.New(t).Environment())
	t.Setenv("PSQL_PASSWORD", "wrong")
	_, err := postgres.Start(t.Context())
	require.Equal(t, "28P01", code(t, err))
	for _, name := range []string{"PSQL_PORT", "PSQL_DBNAME", "PSQL_USER", "PSQL_PASSWORD"} {
		value := os.Getenv(name)
		require.NoError(t, os.Unsetenv(name))
		_, err := postgres.Start(t.Context())
		require.EqualError(t, err, "PSQL_HOST is set, but "+name+" is not")
		t.Setenv(name, value)
	}
}

func setenv(t *testing.T, environment []string) {
	t.Helper()
	for name, value := range variables(environment) {
		t.Setenv(name, value)
	}
}

// TestLocalServer starts the user's local server, below a cache of the test's own, from
// a process that ends before the server is used.
func TestLocalServer(t *testing.T) {
	temp := alone(t)
	cache := filepath.Join(t.TempDir(), "cache")
	output, err := helper(t, "up", "XDG_CACHE_HOME="+cache).Output()
	require.NoError(t, err, "%s", output)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Cleanup(func() { require.NoError(t, postgres.Down(context.Background())) })
	environment := strings.Split(string(output), "\n")
	requireFolders(t, temp, 1)

	setenv(t, environment)
	again, err := postgres.Up(t.Context())
	require.NoError(t, err)
	require.Equal(t, environment, again, "the server that is up already")
	conn, err := pgx.Connect(t.Context(), url(environment))
	require.NoError(t, err)
	require.NoError(t, conn.Ping(t.Context()))

	require.NoError(t, postgres.Down(t.Context()), "though a client is connected")
	require.Error(t, conn.Ping(t.Context()))
	require.Empty(t, processesIn(t, temp))
	require.True(t, isEmpty(t, temp))
	require.NoError(t, postgres.Down(t.Context()), "there is nothing to do")
}

// TestLocalServerThatDiedIsReplaced: the server, or the whole machine, may have crashed.
func TestLocalServerThatDiedIsReplaced(t *testing.T) {
	temp := alone(t)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	t.Cleanup(func() { require.NoError(t, postgres.Down(context.Background())) })
	first, err := postgres.Up(t.Context())
	require.NoError(t, err)
	kill(t, temp)
	second, err := postgres.Up(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, passwordOf(first), passwordOf(second))
	require.NoError(t, connect(t, second).Ping(t.Context()))
	requireFolders(t, temp, 1)
}

// requireFolders finds as many servers below dir.
func requireFolders(t *testing.T, dir string, count int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, count)
}
