package postgreswriter_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestTableByItself has one of two tables refuse to be read. Only the PostgresWriters of this table wait, and become
// ready by themselves once the table can be read.
func TestTableByItself(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// refuse makes table teachers unreadable, and returns what undoes this.
		refuse func(t *testing.T, d *database) (undo func())
		reason string
		says   string
	}{
		"a revoked right": {
			refuse: func(t *testing.T, d *database) func() {
				t.Helper()
				d.exec(t, "revoke select on teachers from "+identifier(d.user))
				return func() { d.exec(t, "grant select on teachers to "+identifier(d.user)) }
			},
			reason: "Refused", says: `table "teachers": ERROR: permission denied for table teachers (SQLSTATE 42501)`,
		},
		"a lock": {
			refuse: func(t *testing.T, d *database) func() {
				t.Helper()
				tx := d.lock(t, "teachers", "access exclusive")
				return func() { require.NoError(t, tx.Rollback(t.Context())) }
			},
			reason: "TableLocked", says: `table "teachers" is locked by another session`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server, "students", "teachers")
			f := newFixtureAllowingErrors(t, d, "--tables=teachers,students", "--check-interval=2s")
			student, going, teacher, leaving := f.withName("student"), f.withName("going"), f.withName("teacher"), f.withName("leaving")
			for _, one := range []fixture{student, going} {
				one.create(t)
				one.waitUntilReady(t)
			}
			for _, one := range []fixture{teacher, leaving} {
				one.create(t, inTable("teachers"))
				one.waitUntilReady(t)
			}
			undo := test.refuse(t, d)

			student.change(t, `{"age":24}`)
			student.waitForRow(t, "students", &row{Name: alex.Name, Age: 24, Country: alex.Country})
			d.exec(t, "delete from students where id = $1", student.key())
			student.waitForRow(t, "students", &row{Name: alex.Name, Age: 24, Country: alex.Country})
			going.delete(t)
			going.waitUntilGone(t)
			coming := f.withName("coming")
			coming.create(t)
			coming.waitForRow(t, "students", &alex)

			teacher.change(t, `{"age":24}`)
			require.Equal(t, test.says, teacher.waitForReason(t, test.reason).Message)
			leaving.delete(t)
			require.Equal(t, test.says, leaving.waitForReason(t, test.reason).Message)
			moving := f.withName("coming")
			moving.change(t, `{"table":"teachers"}`)
			moving.waitForReason(t, test.reason)
			moving.waitForRow(t, "students", &alex)

			undo()
			for _, one := range []fixture{student, teacher, moving} {
				one.waitUntilReady(t)
			}
			leaving.waitUntilGone(t)
		})
	}
}

// TestUncheckedTable has a PostgresWriter claim its row while another table, with somebody else's row of the key, cannot
// be read. That row stays as it is, until it is gone.
func TestUncheckedTable(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	f := newFixtureAllowingErrors(t, d, "--tables=students,teachers", "--check-interval=1s")
	d.insert(t, "teachers", f.key(), berta)
	d.exec(t, "revoke select on teachers from "+identifier(d.user))
	f.create(t)
	f.waitForRow(t, "students", &alex)
	eventually(t, func(context.Context) error {
		writer := f.writer(t)
		return expect(writer.Status.Claimed != nil && len(writer.Status.Claimed.Unchecked) == 1 && condition(writer).Reason == "Written",
			"%+v", writer.Status)
	})
	require.Equal(t, []string{"teachers"}, f.writer(t).Status.Claimed.Unchecked)

	d.exec(t, "grant select on teachers to "+identifier(d.user))
	f.reconcile(t)
	require.Equal(t, berta, d.rows(t, "teachers")[f.key()])
	f.change(t, `{"table":"teachers"}`)
	f.waitForReason(t, "RowExists")
	require.Equal(t, berta, d.rows(t, "teachers")[f.key()])
	require.Equal(t, alex, d.rows(t, "students")[f.key()])
	f.change(t, `{"table":"students"}`)
	f.waitForReasonWritten(t)

	d.exec(t, "delete from teachers")
	f.reconcile(t)
	f.settle(t)
	require.Empty(t, f.writer(t).Status.Claimed.Unchecked)
	d.insert(t, "teachers", f.key(), berta)
	f.reconcile(t)
	f.settle(t)
	require.NotContains(t, d.rows(t, "teachers"), f.key(), "the key is claimed in all tables")
}

// lock locks a table in a transaction, which ends with the test at the latest.
func (d *database) lock(t *testing.T, table, mode string) pgx.Tx {
	t.Helper()
	return d.begin(t, "lock table "+identifier(table)+" in "+mode+" mode")
}

// begin runs SQL in a transaction, which ends with the test at the latest.
func (d *database) begin(t *testing.T, sql string, args ...any) pgx.Tx {
	t.Helper()
	tx, err := d.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it may have been done
	_, err = tx.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
	return tx
}

// waitForReasonWritten waits until Ready is True for the current generation.
func (f fixture) waitForReasonWritten(t *testing.T) {
	t.Helper()
	eventually(t, func(context.Context) error {
		writer := f.writer(t)
		ready := condition(writer)
		return expect(ready.Reason == "Written" && ready.ObservedGeneration == writer.Generation, "%+v", ready)
	})
}
