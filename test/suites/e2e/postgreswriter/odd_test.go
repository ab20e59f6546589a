package postgreswriter_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefusedEarlierRelease has an object of an earlier release whose row is somebody else's. Other failures do not make
// it forget that.
func TestRefusedEarlierRelease(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d, "--check-interval=1s")
	f.create(t)
	f.waitUntilReady(t)
	require.NoError(t, f.operator.Stop())
	f.setStatus(t, `{"claimed":null,"conditions":[{"type":"Ready","status":"False","reason":"RowExists","message":"",`+
		`"lastTransitionTime":"2026-01-02T03:04:05Z"}]}`)
	d.exec(t, "delete from students")
	d.insert(t, "students", f.key(), berta)

	f.operator = start(t, d, "--watch-namespace", f.namespace, "--check-interval=1s")
	f.change(t, `{"age":24}`)
	f.waitForReason(t, "RowExists")
	f.change(t, `{"table":"nosuch"}`)
	f.waitForReason(t, "TableNotAllowed")
	f.change(t, `{"table":"students"}`)
	f.waitForReason(t, "RowExists")
	f.waitForRounds(t, 2)
	require.Equal(t, berta, d.rows(t, "students")[f.key()])
	f.delete(t)
	f.waitUntilGone(t)
	require.Equal(t, berta, d.rows(t, "students")[f.key()])
}

// TestHiddenTable revokes the right to a schema in the search path: its table counts as one that cannot be read, and not
// as missing.
func TestHiddenTable(t *testing.T) {
	t.Parallel()
	const tables = "--tables=students,teachers"
	d := newDatabase(t, server, "students")
	user := identifier(d.user)
	d.withSchema(t, "school", "teachers")
	d.setSearchPath(t, "school, public")
	f := newFixtureAllowingErrors(t, d, tables, "--check-interval=1s")
	count := func() int { return query[int](t, d, "select count(*) from school.teachers")[0] }
	f.create(t, inTable("teachers"))
	f.waitForReasonWritten(t)

	d.exec(t, "revoke usage on schema school from "+user)
	f.delete(t)
	require.Contains(t, f.waitForReason(t, "Refused").Message, `permission denied for schema "school"`)
	other := f.withName("other")
	d.exec(t, "insert into school.teachers values ($1, 'berta', 1, 'x')", other.key())
	other.create(t)
	other.waitForReasonWritten(t)
	require.Equal(t, []string{"teachers"}, other.writer(t).Status.Claimed.Unchecked)

	d.exec(t, "grant usage on schema school to "+user)
	f.waitUntilGone(t)
	other.waitForRounds(t, 2)
	require.Equal(t, 1, count(), "somebody's row stays")
}

// TestChangedKey has tables that change the key of a row: the operator would not find the row again.
func TestChangedKey(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"by a trigger": "create function change() returns trigger language plpgsql as $$ begin new.id := 'x' || new.id; return new; end $$; " +
			"create trigger change before insert on students for each row execute function change()",
		"by a type that truncates": "alter table students alter id type name",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server, "students")
			d.exec(t, sql)
			f := newFixtureWithOwnOperator(t, d)
			f = f.withName("alex" + strings.Repeat("-alex", 12))
			f.create(t)
			require.Contains(t, f.waitForReason(t, "NotStored").Message, "has none with its id")
			require.Empty(t, d.keys(t, "students"))
			require.Nil(t, f.writer(t).Status.Claimed)
		})
	}
}

// TestSweepBesideUnreadable deletes rows of nobody although another table cannot be read.
func TestSweepBesideUnreadable(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	d.exec(t, "revoke select on teachers from "+identifier(d.user))
	d.insert(t, "students", f.key(), berta)
	f.operator = startAllowingErrors(t, d.env(), "--tables=students,teachers", "--sweep", "--watch-namespace", f.namespace)
	f.waitForRow(t, "students", nil)
}

// TestEditedStatus deletes a row, and edits the status in the same round.
func TestEditedStatus(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d, "--check-interval=1s")
	f.create(t)
	f.settle(t)
	for _, status := range []string{`{"id":"other"}`, `{"observedGeneration":0}`, `{"conditions":[]}`} {
		f.setStatus(t, status)
		d.exec(t, "delete from students")
		f.waitForRow(t, "students", &alex)
		f.settle(t)
	}
}

// TestBrokenTable has a table that cannot be read for reasons of its own, as a foreign table may be, and a good one.
func TestBrokenTable(t *testing.T) {
	t.Parallel()
	raise := func(message, code string) string {
		return "raise exception '" + message + "' using errcode = '" + code + "'"
	}
	for name, test := range map[string]struct{ reading, says string }{
		"its server is down":         {raise(`could not connect to server "remote"`, "08001"), "could not connect"},
		"its remote table is gone":   {raise(`relation "remote" does not exist`, "42P01"), "does not exist"},
		"its server does not answer": {"perform pg_sleep(600)", "canceling statement due to statement timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server, "students")
			d.exec(t, "create table remote (id text primary key, name text, age integer, country text); create table broken ();"+
				"create function read() returns boolean language plpgsql stable security definer as $$ begin "+
				"if to_regclass('broken') is not null then "+test.reading+"; end if; return true; end $$;"+
				"create view teachers as select * from remote where read()")
			const args = "--tables=students,teachers"
			f := newFixtureAllowingErrors(t, d, args, "--check-interval=1s")
			teacher := f.withName("teacher")
			d.insert(t, "remote", f.key(), berta)
			teacher.create(t, inTable("teachers"))
			require.Contains(t, teacher.waitForReason(t, "DatabaseUnavailable").Message, `table "teachers": `)
			require.Contains(t, condition(teacher.writer(t)).Message, test.says)
			f.create(t)
			f.waitForReasonWritten(t)
			require.Equal(t, []string{"teachers"}, f.writer(t).Status.Claimed.Unchecked)
			d.exec(t, "delete from students")
			f.waitForRow(t, "students", &alex)

			d.exec(t, "drop table broken")
			teacher.waitForReasonWritten(t)
			f.waitForRounds(t, 2)
			f.delete(t)
			f.waitUntilGone(t)
			require.Empty(t, d.keys(t, "students"))
			require.Equal(t, map[string]row{f.key(): berta, teacher.key(): alex}, d.rows(t, "remote"), "somebody's row stays")
		})
	}
}

// TestUncheckedStays has a table with somebody else's row that cannot be read when the key is claimed, and is missing
// afterwards for a while. That is no look at the table.
func TestUncheckedStays(t *testing.T) {
	t.Parallel()
	const tables = "--tables=students,teachers"
	d := newDatabase(t, server, "students", "teachers")
	f := newFixtureAllowingErrors(t, d, tables, "--check-interval=1s")
	d.insert(t, "teachers", f.key(), berta)
	d.exec(t, "revoke select on teachers from "+identifier(d.user))
	f.create(t)
	f.waitForReasonWritten(t)
	requireUnchecked := func() {
		f.reconcile(t)
		f.waitForRounds(t, 2)
		require.Equal(t, []string{"teachers"}, f.writer(t).Status.Claimed.Unchecked)
	}
	requireUnchecked()
	d.exec(t, "alter table teachers rename to elsewhere")
	requireUnchecked()
	d.exec(t, "alter table elsewhere rename to teachers; alter table teachers rename id to key")
	requireUnchecked()
	d.exec(t, "alter table teachers rename key to id; grant select on teachers to "+identifier(d.user))
	require.NoError(t, f.operator.Stop())
	f.operator = startAllowingErrors(t, d.env(), "--watch-namespace", f.namespace, "--check-interval=1s")
	requireUnchecked()
	require.NoError(t, f.operator.Stop())
	f.operator = startAllowingErrors(t, d.env(), "--watch-namespace", f.namespace, "--check-interval=1s", tables)
	requireUnchecked()
	require.Equal(t, berta, d.rows(t, "teachers")[f.key()])
}

// TestRenamedKey renames the column of the key: a row in this table is not gone.
func TestRenamedKey(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureAllowingErrors(t, d, "--check-interval=1s")
	f.create(t)
	f.waitUntilReady(t)
	d.exec(t, "alter table students rename id to key")
	f.delete(t)
	require.Contains(t, f.waitForReason(t, "WrongColumns").Message, `lacks "id"`)
	d.exec(t, "alter table students rename key to id")
	f.waitUntilGone(t)
	require.Empty(t, d.keys(t, "students"))
}

// TestRefusedTwice takes a right away and gives it back between two looks at the tables.
func TestRefusedTwice(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureAllowingErrors(t, d)
	f.create(t)
	f.waitUntilReady(t)
	d.exec(t, "revoke insert, update on students from "+identifier(d.user))
	f.change(t, `{"age":24}`)
	f.waitForReason(t, "Refused")
	d.exec(t, "grant insert, update on students to "+identifier(d.user))
	f.waitUntilReady(t)
}
