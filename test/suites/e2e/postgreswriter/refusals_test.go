package postgreswriter_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A refusal is a table that refuses the row.
type refusal struct {
	table string
	// prepare is SQL that makes the table refuse the row, and mend is SQL that makes the table
	// accept it.
	prepare, mend string
	reason, says  string
}

func refusals(user string) map[string]refusal {
	const withID = " (id text primary key, name text, age integer, country text); "
	const trigger = "create function f_%[1]s() returns trigger language plpgsql as $$ begin %[2]s end $$; " +
		"create trigger t before insert on %[1]s for each row execute function f_%[1]s()"
	return map[string]refusal{
		"a table that is not there": {
			table: "missing", mend: "create table missing" + withID,
			reason: "TableMissing", says: `the database has no table "missing"; the operator makes missing ones with --create-tables`,
		},
		"columns that are not there": {
			table: "narrow", prepare: "create table narrow (id text primary key, name text)",
			mend:   "alter table narrow add age integer, add country text",
			reason: "WrongColumns", says: `table "narrow" lacks "age", "country"`,
		},
		"columns that were dropped": {
			table: "dropped", prepare: "create table dropped" + withID + "alter table dropped drop id",
			mend:   "alter table dropped add id text primary key",
			reason: "WrongColumns", says: `table "dropped" lacks "id"`,
		},
		"an id that is a number": {
			table: "numbered", prepare: "create table numbered (id bigint primary key, name text, age integer, country text)",
			mend:   "alter table numbered alter id type text",
			reason: "WrongColumns", says: `table "numbered" lacks "id"`,
		},
		"an id that is not unique": {
			table: "vague", prepare: "create table vague (id text, name text, age integer, country text)",
			mend:   "create unique index on vague (id)",
			reason: "WrongColumns", says: "no unique or exclusion constraint",
		},
		"an age that is no number": {
			table: "adults", prepare: "create table adults (id text primary key, name text, age boolean, country text)",
			mend:   "alter table adults alter age type integer using null",
			reason: "WrongColumns", says: `column "age" is of type boolean`,
		},
		"somebody else's row": {
			table: "taken", prepare: "create table taken (id text primary key, name text unique, age integer, country text); " +
				"insert into taken values ('stranger', 'alex', 1, 'cuba')",
			mend:   "delete from taken where id = 'stranger'",
			reason: "UniqueViolation", says: "taken_name_key",
		},
		"a column that is too short": {
			table: "short", prepare: "create table short (id text primary key, name varchar(3), age integer, country text)",
			mend:   "alter table short alter name type varchar(4)",
			reason: "Refused", says: "value too long",
		},
		"a check": {
			table: "checked", prepare: "create table checked (id text primary key, name text, age integer check (age < 18), country text)",
			mend:   "alter table checked drop constraint checked_age_check",
			reason: "Refused", says: "checked_age_check",
		},
		"a trigger that changes the row": {
			table: "loud", prepare: "create table loud" + withID + fmt.Sprintf(trigger, "loud", "new.name = upper(new.name); return new;"),
			mend:   "drop trigger t on loud",
			reason: "NotStored", says: `table "loud" does not keep column "name" as it is given`,
		},
		"a trigger that swallows the row": {
			table: "hungry", prepare: "create table hungry" + withID + fmt.Sprintf(trigger, "hungry", "return null;"),
			mend:   "drop trigger t on hungry",
			reason: "NotStored", says: `table "hungry" takes the row, and has none with its id afterwards`,
		},
		"a trigger that objects": {
			table: "cranky", prepare: "create table cranky" + withID + fmt.Sprintf(trigger, "cranky", "raise exception 'no';"),
			mend:   "drop trigger t on cranky",
			reason: "Refused", says: "P0001",
		},
		"no right to write": {
			table: "sealed", prepare: "create table sealed" + withID + "revoke insert, update, delete on sealed from " + user,
			mend:   "grant insert, update, delete on sealed to " + user,
			reason: "Refused", says: "42501",
		},
		"a relation that is no table": {
			table: "counter", prepare: "create sequence counter",
			mend:   "drop sequence counter; create table counter" + withID,
			reason: "WrongColumns", says: `table "counter" lacks`,
		},
	}
}

// TestRefusals has tables that refuse the row, each in another way. The only effect is a condition:
// no loop, no row in a table, and the PostgresWriter can be deleted. Once the table is fixed, the
// row is written.
func TestRefusals(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	cases := refusals(identifier(d.user))
	tables := "students"
	for _, refusal := range cases {
		tables += "," + refusal.table
		d.exec(t, refusal.prepare)
	}
	healthy := newFixtureWithOwnOperator(t, d, "--tables="+tables, "--check-interval=1s")
	healthy.create(t)
	healthy.settle(t)
	refused := func(name string) fixture { return healthy.withName(cases[name].table) }

	for name := range cases {
		refused(name).create(t, inTable(cases[name].table))
	}
	looked, began := map[string]int{}, time.Now()
	for name, refusal := range cases {
		t.Run(name, func(t *testing.T) {
			ready := refused(name).waitForReason(t, refusal.reason)
			require.Contains(t, ready.Message, refusal.says)
			refused(name).reconcile(t)
			looked[name] = refused(name).reconciles()
		})
	}
	t.Run("no loop", func(t *testing.T) {
		mark := shared.Mark()
		for range 3 {
			d.exec(t, "delete from students where id = $1", healthy.key())
			healthy.waitForRow(t, "students", &alex)
		}
		require.Empty(t, tests.Requests(t, mark, healthy.namespace))
		for name, before := range looked {
			// An event from before may have arrived late, and a refused row is tried again every minute.
			require.LessOrEqual(t, refused(name).reconciles()-before, 2+int(time.Since(began)/time.Minute), name)
		}
	})
	for name, refusal := range cases {
		t.Run("mended: "+name, func(t *testing.T) {
			f := healthy.withName(refusal.table + "-2")
			f.create(t, inTable(refusal.table))
			f.waitForReason(t, refusal.reason)
			f.delete(t)
			f.waitUntilGone(t)

			d.exec(t, refusal.mend)
			f = refused(name)
			f.reconcile(t)
			f.waitUntilReady(t)
			f.delete(t)
			f.waitUntilGone(t)
			require.NotContains(t, d.keys(t, refusal.table), f.key())
		})
	}
}

// TestTableNotAllowed has only PostgresWriters of tables that are not listed. The operator sends no
// SQL except for the pings of its readiness.
func TestTableNotAllowed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	f := newFixtureWithOwnOperator(t, d, "--check-interval=1s")
	for i, table := range []string{"teachers", "pg_user", "students; drop table students", "Students", `"students"`} {
		one := f.withName(nth("alex", i))
		one.create(t, inTable(table))
		require.Contains(t, one.waitForReason(t, "TableNotAllowed").Message, "its flag --tables lists students")
		one.reconcile(t)
	}
	statements := func() []string {
		return query[string](t, d, "select query from pg_stat_activity where application_name = $1 and datname = current_database() "+
			"and query <> '-- ping'", application)
	}
	require.Empty(t, statements(), "no SQL reaches the server")
	f.deleteAll(t)
	require.Empty(t, statements(), "without the finalizer, there is no row")

	f.createClaimed(t)
	f.waitUntilReady(t)
	f.change(t, `{"table":"teachers"}`)
	f.waitForReason(t, "TableNotAllowed")
	f.deleteAll(t)
	require.Empty(t, d.keys(t, "students"), "the row is from when the table was listed")
	require.Equal(t, []string{"students", "teachers"}, d.tables(t))
}

// TestFailedMove has a row that cannot be moved to its new table: it stays in the old one.
func TestFailedMove(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	d.exec(t, "create table taken (id text primary key, name text unique, age integer, country text)")
	d.insert(t, "taken", "stranger", alex)
	f := newFixtureWithOwnOperator(t, d, "--tables=students,taken,missing")
	f.create(t)
	f.settle(t)
	for table, reason := range map[string]string{"taken": "UniqueViolation", "missing": "TableMissing", "unlisted": "TableNotAllowed"} {
		f.change(t, `{"table":"`+table+`"}`)
		f.waitForReason(t, reason)
		require.Equal(t, alex, d.rows(t, "students")[f.key()])
		require.Equal(t, "students", f.writer(t).Status.Table)
	}
	f.delete(t)
	f.waitUntilGone(t)
	require.Empty(t, d.keys(t, "students"), "it is found where it is")
}

// TestDroppedTable has tables dropped under the rows.
func TestDroppedTable(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	f := newFixtureAllowingErrors(t, d, "--tables=students,teachers", "--check-interval=1s") // dropped while it looks
	f.create(t)
	f.settle(t)
	other := f.withName("berta")
	other.create(t, inTable("teachers"))
	other.settle(t)

	d.exec(t, "drop table students")
	f.waitForReason(t, "TableMissing")
	f.delete(t)
	f.waitUntilGone(t)
	require.NoError(t, other.checkState(t), "the other table is none the worse")
}

// TestCreateTables has an operator make the tables.
func TestCreateTables(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server)
	f := newFixtureAllowingErrors(t, d, "--create-tables", "--tables=students,"+oddTables[0], "--check-interval=1s")
	var fixtures []fixture
	for i := range 10 { // at the same time
		one := f.withName(nth("alex", i))
		one.create(t, inTable([]string{"students", oddTables[0]}[i%2]))
		fixtures = append(fixtures, one)
	}
	for _, one := range fixtures {
		one.waitUntilReady(t)
	}
	require.ElementsMatch(t, []string{"students", oddTables[0]}, d.tables(t))
	require.Equal(t, []string{"age integer", "country text", "id text", "name text"}, query[string](t, d,
		"select column_name || ' ' || data_type from information_schema.columns where table_name = 'students' order by 1"))
	_, err := d.Pool.Exec(t.Context(), "insert into students (id) values ($1)", fixtures[0].key())
	require.ErrorContains(t, err, "students_pkey")

	d.exec(t, "drop table students")
	eventually(t, func(context.Context) error {
		return expect(len(d.tables(t)) == 2, "%v", d.tables(t))
	})
	for _, one := range fixtures {
		one.waitUntilReady(t)
	}
	d.exec(t, "drop table students")
	f.deleteAll(t)
}

// TestTablesOfOthers has tables that are not as the operator would have made them.
func TestTablesOfOthers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server)
	tables := map[string]string{
		"varchars": "create table varchars (id varchar(500) primary key, name varchar(255), age int, country varchar(255))",
		"more":     "create table more (since timestamptz not null default now(), country text, age bigint, name text, id text unique not null)",
		"spelled":  "create table spelled (id text primary key, name text, age text, country text)",
		"numeric":  "create table \"numeric\" (id text primary key, name text, age numeric, country text)",
		"parts": "create table parts (id text primary key, name text, age smallint, country text) partition by hash (id); " +
			"create table parts_0 partition of parts for values with (modulus 2, remainder 0); " +
			"create table parts_1 partition of parts for values with (modulus 2, remainder 1)",
		"pupils": "create table people (id text primary key, name text, age integer, country text); " +
			"create view pupils as select * from people where age < 30",
	}
	list := "unused"
	for table, made := range tables {
		list += "," + table
		d.exec(t, made)
	}
	f := newFixtureWithOwnOperator(t, d, "--tables="+list)
	f.create(t, inTable("varchars"))
	for table := range tables {
		f.change(t, `{"table":"`+table+`","age":24}`)
		f.settle(t)
		f.change(t, `{"age":25}`)
		f.settle(t)
	}
	f.delete(t)
	f.waitUntilGone(t)
	for table := range tables {
		require.Empty(t, d.keys(t, table), table)
	}
}

// TestTwice has the row in more than one place, each as specified.
func TestTwice(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server)
	d.exec(t, "create table vague (id text, name text, age integer, country text); create unique index i on vague (id)")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = start(t, d, "--watch-namespace", f.namespace, "--tables=vague", "--adopt-rows="+f.namespace)
	f.create(t, inTable("vague"))
	f.waitUntilReady(t)
	other := f.withName("other")
	d.exec(t, "drop index i")
	for _, one := range []fixture{f, other, other} {
		d.insert(t, "vague", one.key(), alex)
	}
	f.touch(t)
	other.create(t, inTable("vague"))
	for _, one := range []fixture{f, other} {
		require.Contains(t, one.waitForReason(t, "WrongColumns").Message, "no unique or exclusion constraint")
		one.delete(t)
		one.waitUntilGone(t)
	}
	require.Equal(t, []string{other.key(), other.key()}, d.keys(t, "vague"), "rows that could not be adopted stay")
}
