package articles_test

import (
	"errors"
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
		const query = "select id, name, age, country from students"
		eventually(t, query, func() error {
			found, err := database.Pool.Query(t.Context(), query)
			if err != nil {
				return err
			}
			have, err := pgx.CollectRows(found, pgx.RowToStructByPos[row])
			if diff := cmp.Diff(want, have, cmpopts.EquateEmpty()); err == nil && diff != "" {
				err = errors.New(diff)
			}
			return err
		})
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
		"the row of default/sample-student is Alex, 1000, India, and there is no other": func(t *testing.T, _ *reader) {
			t.Helper()
			rows(t, row{ID: "default/sample-student", Name: "Alex", Age: 1000, Country: "India"})
		},
		"the table has no row": func(t *testing.T, _ *reader) {
			t.Helper()
			rows(t)
		},
	}}
}
