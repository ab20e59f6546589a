package postgreswriter_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestDrift has people change rows. Nothing notifies the operator; it finds the drift when it next
// reads the row.
func TestDrift(t *testing.T) {
	d := newDatabase(t, server, "students", "teachers")
	process := start(t, d, "--tables=students,teachers", "--check-interval=1s")
	for name, drift := range map[string]string{
		"name edited":    "update students set name = 'berta' where id = $1",
		"age edited":     "update students set age = age + 1 where id = $1",
		"country edited": "update students set country = upper(country) where id = $1",
		"set to null":    "update students set name = null, age = null, country = null where id = $1",
		"deleted":        "delete from students where id = $1",
		"moved":          "with gone as (delete from students where id = $1 returning *) insert into teachers select * from gone",
		"copied":         "insert into teachers select * from students where id = $1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, d, process)
			d.exec(t, drift, f.key())
			f.waitForRow(t, "students", &alex)
			f.waitForRow(t, "teachers", nil)
			require.NoError(t, f.checkState(t))
		})
	}
	t.Run("all rows at once", func(t *testing.T) {
		t.Parallel()
		testTruncated(t, d, process)
	})
}

func testTruncated(t *testing.T, d *database, process *operator.Process) {
	d.create(t, "unused") // a table that the operator does not know
	d.insert(t, "unused", "stranger", alex)
	f := newFixture(t, d, process)
	d.exec(t, "truncate teachers; delete from students where id like '"+f.namespace+"/%'")
	f.waitForRow(t, "students", &alex)
	require.Equal(t, []string{"stranger"}, d.keys(t, "unused"))
}

// TestSteadyState counts the work of an operator that has nothing to change: it only reads rows.
func TestSteadyState(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	f := newFixtureWithOwnOperator(t, d, "--tables=students,teachers", "--check-interval=1s")
	f.create(t)
	f.settle(t)
	other := f.withName("berta")
	other.create(t, inTable("teachers"))
	other.waitUntilReady(t)
	f.settle(t)

	written, mark := d.written(t), shared.Mark()
	looked := f.reconciles()
	f.waitForRounds(t, 3)
	require.Equal(t, looked, f.reconciles(), "nothing is reconciled")
	f.reconcile(t)
	require.Equal(t, written, d.written(t), "a repeated reconcile of an unchanged PostgresWriter writes nothing")
	require.Empty(t, tests.Requests(t, mark, f.namespace))

	// The counters do move.
	f.change(t, `{"age":24}`)
	f.waitUntilReady(t)
	require.Equal(t, written.Statements+1, d.written(t).Statements)
}

// waitForRounds waits until the operator has compared all rows n times more.
func (f fixture) waitForRounds(t *testing.T, n int) {
	t.Helper()
	rounds := func() int { return len(f.operator.Entries("compared rows")) }
	before := rounds()
	eventually(t, func(context.Context) error {
		return expect(rounds() > before+n, "%d times", rounds()-before)
	})
}
