package postgreswriter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/postgres"
)

// application is the name of the operator's connections.
const application = "postgreswriter-operator"

// password is that of every operator's database user: as awkward as passwords may be.
const password = `Corr3ct 'h0rse" \b@tt:ery/st%41ple?#=&$`

// secrets are parts of the password that no quoting changes.
var secrets = []string{"Corr3ct", "h0rse", "b@tt", "ery/st", "41ple", "ery%2Fst"}

// A row is written by a PostgresWriter.
type row struct {
	Name    string
	Age     int
	Country string
}

// A database is empty at first, and has a user for the operator with only the granted rights.
type database struct {
	*postgres.Database
	user string
}

// newDatabase creates a database with these tables. The operator's user may create tables, and
// write to these tables and to tables created later.
func newDatabase(t *testing.T, on *postgres.Server, tables ...string) *database {
	t.Helper()
	d := &database{Database: on.Database(t)}
	d.user = d.Name + "_operator"
	user := identifier(d.user)
	d.exec(t, "create role "+user+" login password "+literal(password))
	t.Cleanup(func() {
		_, err := d.Pool.Exec(context.Background(), "drop owned by "+user+" cascade; drop role "+user)
		if !t.Failed() {
			require.NoError(t, err)
		}
	})
	d.exec(t, "alter default privileges in schema public grant select, insert, update, delete on tables to "+user)
	d.exec(t, "grant usage, create on schema public to "+user)
	for _, table := range tables {
		d.create(t, table)
	}
	return d
}

// env returns the variables that configure the operator for the database.
func (d *database) env() []string {
	return append(d.Environment(), "PSQL_USER="+d.user, "PSQL_PASSWORD="+password)
}

// create makes a table as the operator would.
func (d *database) create(t *testing.T, table string) {
	t.Helper()
	d.exec(t, "create table "+identifier(table)+" (id text primary key, name text, age integer, country text)")
}

// exec runs SQL as a user who may do everything. Without arguments, the SQL may have several
// statements.
func (d *database) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := d.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// insert puts in a row by hand.
func (d *database) insert(t *testing.T, table, key string, r row) {
	t.Helper()
	d.exec(t, "insert into "+identifier(table)+" (id, name, age, country) values ($1, $2, $3, $4)", key, r.Name, r.Age, r.Country)
}

// rows returns all rows of a table by their key, which must be unique. Null becomes an empty text,
// or the age -1, which no PostgresWriter can ask for.
func (d *database) rows(t *testing.T, table string) map[string]row {
	t.Helper()
	rows := map[string]row{}
	found, err := d.Pool.Query(t.Context(), "select id, coalesce(name, ''), coalesce(age::text::integer, -1), coalesce(country, '') from "+identifier(table))
	require.NoError(t, err)
	var key string
	var r row
	_, err = pgx.ForEachRow(found, []any{&key, &r.Name, &r.Age, &r.Country}, func() error {
		require.NotContains(t, rows, key, "twice in %s", table)
		rows[key] = r
		return nil
	})
	require.NoError(t, err)
	return rows
}

// keys returns the keys of a table's rows.
func (d *database) keys(t *testing.T, table string) []string {
	t.Helper()
	return query[string](t, d, "select id from "+identifier(table)+" order by id")
}

// tables are all tables there are.
func (d *database) tables(t *testing.T) []string {
	t.Helper()
	return query[string](t, d, "select tablename::text from pg_tables where schemaname = 'public' order by tablename")
}

// sessions is how many connections the operator has.
func (d *database) sessions(t *testing.T) int {
	t.Helper()
	return query[int](t, d, "select count(*) from pg_stat_activity where application_name = $1 and datname = current_database()", application)[0]
}

// disconnect ends the connections of the operator.
func (d *database) disconnect(t *testing.T) {
	t.Helper()
	d.exec(t, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()", application)
}

// written counts all writes to the database.
func (d *database) written(t *testing.T) postgres.Writes {
	t.Helper()
	written, err := d.Written(t.Context())
	skipUnsupported(t, err)
	require.NoError(t, err)
	return written
}

// query returns the only column of a query.
func query[T any](t *testing.T, d *database, sql string, args ...any) []T {
	t.Helper()
	rows, err := d.Pool.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return values
}

func identifier(name string) string { return pgx.Identifier{name}.Sanitize() }

// literal quotes a text for SQL, where backslashes have no special meaning.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
