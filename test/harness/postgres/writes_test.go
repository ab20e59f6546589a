package postgres_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/postgres"
)

func TestWritesAreCountedExactly(t *testing.T) {
	alone(t)
	s := postgres.New(t)
	d := s.Database(t)
	require.Equal(t, postgres.Writes{}, written(t, d))
	prepare(t, d)
	for _, c := range []struct {
		statement string
		want      postgres.Writes
		reason    string
	}{
		{"INSERT INTO a VALUES (1), (2), (3)", postgres.Writes{Statements: 1, Rows: 3}, ""},
		{"UPDATE a SET n = n + 10", postgres.Writes{Statements: 1, Rows: 3}, ""},
		{"UPDATE a SET n = n", postgres.Writes{Statements: 1, Rows: 3}, "it writes rows, if the same"},
		{"DELETE FROM a WHERE n = 11", postgres.Writes{Statements: 1, Rows: 1}, ""},
		{"DELETE FROM a WHERE n = 11", postgres.Writes{Statements: 1}, "no such row"},
		{"INSERT INTO a VALUES (12) ON CONFLICT DO NOTHING", postgres.Writes{Statements: 1}, "the row is there"},
		{"INSERT INTO a VALUES (12) ON CONFLICT (n) DO UPDATE SET n = 12", postgres.Writes{Statements: 1, Rows: 1}, ""},
		{"INSERT INTO a VALUES (4) RETURNING n", postgres.Writes{Statements: 1, Rows: 1}, ""},
		{" -- name: Add :exec\n/* a */ insert into a values (5)", postgres.Writes{Statements: 1, Rows: 1}, "comments"},
		{"WITH gone AS (DELETE FROM a WHERE n = 5 RETURNING n) SELECT n FROM gone", postgres.Writes{Statements: 1, Rows: 1}, ""},
		{"WITH new AS (SELECT 6) INSERT INTO a SELECT * FROM new", postgres.Writes{Statements: 1, Rows: 1}, ""},
		{"INSERT INTO watched VALUES (1)", postgres.Writes{Statements: 2, Rows: 2}, "a trigger"},
		{"SELECT add(7)", postgres.Writes{Statements: 1, Rows: 1}, "a function"},
		{"MERGE INTO a USING (SELECT 7 AS n) s ON a.n = s.n WHEN MATCHED THEN DELETE", postgres.Writes{Statements: 1, Rows: 1}, ""},
		{"TRUNCATE watched", postgres.Writes{Statements: 1}, ""},
		{"SELECT n FROM a", postgres.Writes{}, ""},
		{"SELECT n FROM a FOR UPDATE", postgres.Writes{}, "a lock"},
		{"WITH s AS (SELECT n FROM a FOR UPDATE) SELECT n, 'insert' FROM s", postgres.Writes{}, "a lock"},
		{"CREATE TABLE c (n int REFERENCES a ON DELETE CASCADE)", postgres.Writes{}, "no rows"},
		{"GRANT INSERT, UPDATE ON a TO public", postgres.Writes{}, "no rows"},
		{"COPY (SELECT n FROM a) TO '/dev/null'", postgres.Writes{}, "out of the database"},
	} {
		require.Equal(t, c.want, difference(t, d, func() {
			_, err := d.Pool.Exec(t.Context(), c.statement)
			require.NoError(t, err)
		}), "%s: %s", c.statement, c.reason)
	}
	require.Equal(t, postgres.Writes{Statements: 1, Rows: 2}, difference(t, d, func() {
		_, err := d.Pool.CopyFrom(t.Context(), pgx.Identifier{"b"}, []string{"n"}, pgx.CopyFromRows([][]any{{1}, {2}}))
		require.NoError(t, err)
	}))
	require.Equal(t, postgres.Writes{}, written(t, s.Database(t)), "of another database")
}

// prepare makes tables, one of which has a trigger, and a function.
func prepare(t *testing.T, d *postgres.Database) {
	t.Helper()
	require.Equal(t, postgres.Writes{}, difference(t, d, func() {
		_, err := d.Pool.Exec(t.Context(), `
			CREATE TABLE a (n int PRIMARY KEY);
			CREATE TABLE b (n int);
			CREATE TABLE watched (n int);
			CREATE FUNCTION copied() RETURNS trigger LANGUAGE plpgsql AS
				'BEGIN INSERT INTO b VALUES (NEW.n); RETURN NEW; END';
			CREATE TRIGGER copied AFTER INSERT OR UPDATE ON watched FOR EACH ROW EXECUTE FUNCTION copied();
			CREATE FUNCTION add(n int) RETURNS void LANGUAGE plpgsql AS
				'BEGIN INSERT INTO a VALUES (n); END';`)
		require.NoError(t, err)
	}))
}

func TestWritesOfTransactions(t *testing.T) {
	alone(t)
	d := postgres.New(t).Database(t)
	prepare(t, d)
	require.Equal(t, postgres.Writes{Statements: 1, Rows: 1}, difference(t, d, func() {
		tx, err := d.Pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "INSERT INTO a VALUES (1)")
		require.NoError(t, err)
		require.NoError(t, tx.Rollback(t.Context()))
	}), "rolled back")
	require.Equal(t, postgres.Writes{}, difference(t, d, func() {
		_, err := d.Pool.Exec(t.Context(), "INSERT INTO a VALUES (1), (1)")
		require.Equal(t, "23505", code(t, err))
	}), "refused")
}

// TestWritesOfOthersAreCountedAtOnce counts the writes of many sessions that are neither idle for
// long nor end.
func TestWritesOfOthersAreCountedAtOnce(t *testing.T) {
	alone(t)
	d := postgres.New(t).Database(t)
	prepare(t, d)
	const sessions, inserts = 8, 100
	for range 3 {
		require.Equal(t, postgres.Writes{Statements: sessions * inserts, Rows: sessions * inserts}, difference(t, d, func() {
			var writing sync.WaitGroup
			for range sessions {
				conn := connect(t, d.Environment())
				writing.Go(func() {
					for range inserts {
						if _, err := conn.Exec(t.Context(), "INSERT INTO b VALUES ($1)", 1); err != nil {
							t.Error(err)
						}
					}
				})
			}
			writing.Wait()
		}))
	}
}

func TestWritesOfARestartedServer(t *testing.T) {
	alone(t)
	s := postgres.New(t)
	d := s.Database(t)
	prepare(t, d)
	_, err := d.Pool.Exec(t.Context(), "INSERT INTO b VALUES (1)")
	require.NoError(t, err)
	require.NoError(t, s.Restart(t.Context()))
	require.Equal(t, postgres.Writes{Statements: 1, Rows: 1}, written(t, d))
	require.NoError(t, s.Kill())
	require.NoError(t, s.Restart(t.Context()))
	require.Equal(t, postgres.Writes{}, written(t, d))
}

func TestWritesNeedTheModule(t *testing.T) {
	alone(t)
	d := postgres.New(t, postgres.Setting("shared_preload_libraries", "")).Database(t)
	_, err := d.Written(t.Context())
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "shared_preload_libraries")
}

func written(t *testing.T, d *postgres.Database) postgres.Writes {
	t.Helper()
	w, err := d.Written(t.Context())
	require.NoError(t, err)
	return w
}

// difference returns the writes during do.
func difference(t *testing.T, d *postgres.Database, do func()) postgres.Writes {
	t.Helper()
	before := written(t, d)
	do()
	after := written(t, d)
	return postgres.Writes{Statements: after.Statements - before.Statements, Rows: after.Rows - before.Rows}
}
