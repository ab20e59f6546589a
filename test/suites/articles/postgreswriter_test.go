package articles_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/postgres"
)

// A row is a row of table students, as the article's program writes it.
type row struct {
	ID, Name string
	Age      int
	Country  string
}

func postgresWriter() articleTest {
	var database *postgres.Database
	rows := func(t *testing.T, want ...row) {
		t.Helper()
		found, err := database.Pool.Query(t.Context(), "select id, name, age, country from students")
		require.NoError(t, err)
		have, err := pgx.CollectRows(found, pgx.RowToStructByPos[row])
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, have, cmpopts.EquateEmpty()))
	}
	return articleTest{name: "postgreswriter", happens: map[string]event{
		"there is a database with a table students": func(t *testing.T, r *reader) {
			t.Helper()
			database = postgres.New(t).Database(t)
			r.environment = append(r.environment, database.Environment()...)
			_, err := database.Pool.Exec(t.Context(), "create table students (id text primary key, name text, age integer, country text)")
			require.NoError(t, err)
		},
		"the row of default/sample-student is alex, 23, canada, and there is no other": func(t *testing.T, _ *reader) {
			t.Helper()
			rows(t, row{ID: "default/sample-student", Name: "alex", Age: 23, Country: "canada"})
		},
		"the table has no row": func(t *testing.T, _ *reader) {
			t.Helper()
			rows(t)
		},
	}}
}
