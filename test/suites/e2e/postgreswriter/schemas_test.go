package postgreswriter_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// withSchema creates a schema with a table that the operator's user may use.
func (d *database) withSchema(t *testing.T, schema, table string) {
	t.Helper()
	user := identifier(d.user)
	d.exec(t, "create schema "+schema+"; create table "+schema+"."+table+" (id text primary key, name text, age integer, country text); "+
		"grant usage on schema "+schema+" to "+user+"; grant select, insert, update, delete on "+schema+"."+table+" to "+user)
}

// setSearchPath sets the search path of the operator's user, also for its connections.
func (d *database) setSearchPath(t *testing.T, path string) {
	t.Helper()
	d.exec(t, "alter role "+identifier(d.user)+" set search_path = "+path)
	d.disconnect(t)
}

// TestLaterSchema has a table of the same name in a schema that the user may not use: only one that comes before the right
// schema hides its table.
func TestLaterSchema(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	d.withSchema(t, "archive", "students")
	d.exec(t, "revoke usage on schema archive from "+identifier(d.user))
	d.setSearchPath(t, "public, archive")
	f := newFixtureAllowingErrors(t, d, "--check-interval=1s")
	f.create(t)
	f.waitUntilReady(t)

	d.setSearchPath(t, "archive, public")
	f.change(t, `{"age":24}`)
	require.Equal(t, `table "students": permission denied for schema "archive"`, f.waitForReason(t, "Refused").Message)
	require.Equal(t, alex, d.rows(t, "students")[f.key()])
}

// TestLostSchema takes a schema out of the search path for a while: its table is not missing.
func TestLostSchema(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	d.withSchema(t, "school", "teachers")
	d.setSearchPath(t, "public, school")
	keys := func() []string { return query[string](t, d, "select id from school.teachers order by id") }
	f := newFixtureAllowingErrors(t, d, "--tables=students,teachers", "--check-interval=1s")
	f.create(t, inTable("teachers"))
	f.waitForReasonWritten(t)
	other := f.withName("other")
	d.exec(t, "insert into school.teachers values ($1, 'berta', 99, 'cuba')", other.key())

	d.setSearchPath(t, "public")
	f.delete(t)
	f.waitForReason(t, "TableMissing")
	other.create(t)
	other.waitForReasonWritten(t)
	require.Equal(t, []string{"teachers"}, other.writer(t).Status.Claimed.Unchecked)
	require.ElementsMatch(t, []string{f.key(), other.key()}, keys())

	d.setSearchPath(t, "public, school")
	f.waitUntilGone(t)
	other.waitForRounds(t, 2)
	require.Equal(t, []string{other.key()}, keys(), "somebody's row stays")
}
