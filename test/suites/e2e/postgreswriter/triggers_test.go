package postgreswriter_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// trigger returns SQL that has a trigger of table students, as declared, run a function.
func trigger(declaration, body string) string {
	return "create function f() returns trigger language plpgsql security definer as $$ begin " + body + " end $$; " +
		"create " + declaration + " for each row execute function f()"
}

// TestKeptRow has a trigger that keeps rows from being deleted, as soft deletion does.
func TestKeptRow(t *testing.T) {
	t.Parallel()
	const says = `table "students" does not delete the row`
	d := newDatabase(t, server, "students", "teachers")
	d.exec(t, trigger("trigger t before delete on students", "return null;"))
	f := newFixtureAllowingErrors(t, d, "--tables=students,teachers", "--check-interval=1s")
	moving := f.withName("moving")
	for _, one := range []fixture{f, moving} {
		one.create(t)
		one.waitUntilReady(t)
	}
	f.delete(t)
	moving.change(t, `{"table":"teachers"}`)
	for _, one := range []fixture{f, moving} {
		require.Equal(t, says, one.waitForReason(t, "NotStored").Message)
	}
	require.ElementsMatch(t, []string{f.key(), moving.key()}, d.keys(t, "students"))
	require.Empty(t, d.keys(t, "teachers"))

	d.exec(t, "drop trigger t on students")
	f.touch(t)
	f.waitUntilGone(t)
	moving.touch(t)
	moving.waitUntilReady(t)
	require.Empty(t, d.keys(t, "students"))
}

// TestChangedLater has triggers that change a row after it is stored.
func TestChangedLater(t *testing.T) {
	t.Parallel()
	const body = "if pg_trigger_depth() = 1 then update students set name = upper(name) where id = new.id; end if; return null;"
	for name, sql := range map[string]string{
		"at once":       trigger("trigger t after insert or update on students", body),
		"at the commit": trigger("constraint trigger t after insert or update on students deferrable initially deferred", body),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server, "students")
			d.exec(t, sql)
			f := newFixtureWithOwnOperator(t, d)
			f.create(t)
			require.Equal(t, `table "students" does not keep column "name" as it is given`, f.waitForReason(t, "NotStored").Message)
			require.Nil(t, f.writer(t).Status.Claimed)
			require.Empty(t, d.keys(t, "students"))
		})
	}
}

// TestView has a view that takes rows that it does not show.
func TestView(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server)
	d.exec(t, "create table people (id text primary key, name text, age integer, country text); "+
		"create view pupils as select * from people where age < 30")
	f := newFixtureWithOwnOperator(t, d, "--tables=pupils")
	f.create(t, inTable("pupils"))
	f.waitUntilReady(t)
	f.change(t, `{"age":40}`)
	require.Equal(t, `table "pupils" takes the row, and has none with its id afterwards`, f.waitForReason(t, "NotStored").Message)
	require.Equal(t, map[string]row{f.key(): alex}, d.rows(t, "people"))
	f.change(t, `{"age":24}`)
	f.waitUntilReady(t)
	f.delete(t)
	f.waitUntilGone(t)
	require.Empty(t, d.keys(t, "people"))
}
