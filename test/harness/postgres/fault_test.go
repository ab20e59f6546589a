package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/filelock"
	"github.com/trueup-go/trueup/test/harness/postgres"
)

// TestKillLosesNothingAcknowledged kills the server in the midst of inserts, again and
// again.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	alone(t)
	s := postgres.New(t)
	d := s.Database(t)
	_, err := d.Pool.Exec(t.Context(), "CREATE TABLE numbers (n bigint PRIMARY KEY)")
	require.NoError(t, err)
	const writers, rounds = 4, 5
	var next, acknowledged atomic.Int64
	seen := map[int64]bool{}
	for round := range rounds {
		var writing sync.WaitGroup
		var mu sync.Mutex
		for range writers {
			conn := connect(t, d.Environment())
			writing.Go(func() {
				for {
					n := next.Add(1)
					if _, err := conn.Exec(t.Context(), "INSERT INTO numbers VALUES ($1)", n); err != nil {
						return // the kill
					}
					mu.Lock()
					seen[n] = true
					mu.Unlock()
					acknowledged.Add(1)
				}
			})
		}
		enough := int64(200 * (round + 1))
		require.Eventually(t, func() bool { return acknowledged.Load() >= enough }, limit, tick)
		require.NoError(t, s.Kill())
		writing.Wait()
		require.NoError(t, s.Restart(t.Context()))

		found := numbers(t, d)
		for n := range seen {
			require.True(t, found[n], "row %d is lost", n)
		}
		unacknowledged := len(found) - len(seen)
		require.LessOrEqual(t, unacknowledged, writers*(round+1), "one for each writer that was broken off")
	}
}

func numbers(t *testing.T, d *postgres.Database) map[int64]bool {
	t.Helper()
	rows, err := connect(t, d.Environment()).Query(t.Context(), "SELECT n FROM numbers")
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	found := map[int64]bool{}
	for _, n := range all {
		found[n] = true
	}
	return found
}

func TestKillEndsEveryProcessAtOnce(t *testing.T) {
	temp := alone(t)
	s := postgres.New(t)
	busy := connect(t, s.Environment())
	done := make(chan error, 1)
	go func() {
		_, err := busy.Exec(context.Background(), "SELECT count(*) FROM generate_series(1, 1e15::bigint)")
		done <- err
	}()
	requireActive(t, s, "SELECT count%")
	require.NoError(t, s.Kill())
	require.Empty(t, processesIn(t, temp), "the one that computes looks at nothing else")
	require.Error(t, <-done)
	require.NoError(t, s.Kill(), "there is nothing to do")
}

// requireActive waits until a statement runs.
func requireActive(t *testing.T, s *postgres.Server, like string) {
	t.Helper()
	conn := connect(t, s.Environment())
	require.Eventually(t, func() bool {
		var active int
		err := conn.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1", like).Scan(&active)
		require.NoError(t, err)
		return active == 1
	}, limit, tick)
}

func TestRestartKeepsPortAndData(t *testing.T) {
	alone(t)
	s := postgres.New(t)
	d := s.Database(t)
	_, err := d.Pool.Exec(t.Context(), "CREATE TABLE numbers AS SELECT 7::bigint AS n")
	require.NoError(t, err)

	require.NoError(t, s.Stop())
	_, err = pgx.Connect(t.Context(), url(d.Environment()))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, s.Stop(), "there is nothing to do")
	require.ErrorContains(t, s.Freeze(), "does not run")
	require.NoError(t, s.Restart(t.Context()))
	require.Equal(t, map[int64]bool{7: true}, numbers(t, d))
	require.NoError(t, s.Restart(t.Context()), "one that runs")
	require.Equal(t, map[int64]bool{7: true}, numbers(t, d))
}

func TestDatabaseOfAStoppedServerGoesWithIt(t *testing.T) {
	temp := alone(t)
	t.Run("test", func(t *testing.T) {
		s := postgres.New(t)
		s.Database(t)
		require.NoError(t, s.Stop())
	})
	requireNothingIn(t, temp)
}

func TestFrozenServerAnswersWhenItIsResumed(t *testing.T) {
	temp := alone(t)
	s := postgres.New(t)
	before := connect(t, s.Environment())
	require.NoError(t, s.Freeze())
	processes := processesIn(t, temp)
	require.Equal(t, map[string]int{"T": len(processes)}, states(t, processes))

	answers := make(chan error, 2)
	go func() { answers <- before.Ping(context.Background()) }()
	go func() {
		after, err := pgx.Connect(context.Background(), url(s.Environment()))
		if err == nil {
			err = after.Close(context.Background())
		}
		answers <- err
	}()
	require.Empty(t, answers)
	require.NoError(t, s.Resume())
	require.NoError(t, s.Resume(), "there is nothing to do")
	require.NoError(t, <-answers)
	require.NoError(t, <-answers)
}

func TestFrozenServerCanBeStoppedAndKilled(t *testing.T) {
	alone(t)
	s := postgres.New(t)
	for _, end := range []func() error{s.Stop, s.Kill} {
		require.NoError(t, s.Freeze())
		require.NoError(t, end())
		require.NoError(t, s.Restart(t.Context()))
	}
}

func TestServerThatEndedByItselfIsToldByClose(t *testing.T) {
	temp := alone(t)
	s, err := postgres.Start(t.Context())
	require.NoError(t, err)
	pid := postmaster(t, temp)
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, limit, tick)
	err = s.Close()
	require.ErrorContains(t, err, "PostgreSQL ended: exit status 0")
	require.ErrorContains(t, err, "received smart shutdown request")
	requireNothingIn(t, temp)
}

// postmaster is the process id of the one server below dir.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "data", "postmaster.pid"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	content, err := os.ReadFile(files[0])
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return pid
}

// kill ends the one server below dir as a crash would.
func kill(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, syscall.Kill(postmaster(t, dir), syscall.SIGKILL))
	locks, err := filepath.Glob(filepath.Join(dir, "*", "lock"))
	require.NoError(t, err)
	require.Len(t, locks, 1)
	require.Eventually(t, func() bool {
		held, err := filelock.Held(locks[0])
		return err == nil && !held
	}, limit, tick, "the others follow, and let go of the lock")
}
