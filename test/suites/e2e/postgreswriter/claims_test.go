package postgreswriter_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
)

// berta is a row of somebody else.
var berta = row{Name: "berta", Age: 99, Country: "cuba"}

// TestRowExists has rows with the keys of PostgresWriters that have not claimed them. The
// operator leaves the rows and the finalizers alone, also when the PostgresWriters are deleted.
func TestRowExists(t *testing.T) {
	d := newDatabase(t, server, "students", "teachers")
	process := start(t, d, "--tables=students,teachers")
	for name, earlier := range map[string]struct {
		tables []string
		row    row
		says   string
	}{
		"another row":                  {[]string{"students"}, berta, `table "students" already has a row with the key "KEY"`},
		"a row that matches the spec":  {[]string{"students"}, alex, `table "students" already has a row with the key "KEY"`},
		"a row in another table":       {[]string{"teachers"}, berta, `table "teachers" already has a row with the key "KEY"`},
		"a row in each of both tables": {[]string{"students", "teachers"}, berta, `table "students, teachers" already has a row with the key "KEY"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newEmptyFixture(t, d, process)
			for _, table := range earlier.tables {
				d.insert(t, table, f.key(), earlier.row)
			}
			requireLeft := func() {
				for _, table := range earlier.tables {
					require.Equal(t, earlier.row, d.rows(t, table)[f.key()])
				}
			}
			mark := shared.Mark()
			f.create(t)
			f.requireRowExists(t, earlier.says)
			require.NotContains(t, tests.Requests(t, mark, f.namespace), "patch postgreswriters", "no finalizer comes and goes")
			requireLeft()

			mark = shared.Mark()
			f.reconcile(t)
			require.Empty(t, tests.Requests(t, mark, f.namespace))
			f.change(t, `{"table":"teachers"}`)
			f.requireRowExists(t, earlier.says)
			f.delete(t)
			f.waitUntilGone(t)
			f.withName("alex-2").create(t) // is handled after the deletion of the other
			f.withName("alex-2").waitUntilReady(t)
			requireLeft()
		})
	}
	t.Run("a row that goes away", func(t *testing.T) {
		t.Parallel()
		f := newEmptyFixture(t, d, process)
		d.insert(t, "students", f.key(), berta)
		f.create(t)
		f.requireRowExists(t, "")
		d.exec(t, "delete from students where id = $1", f.key())
		f.reconcile(t)
		f.settle(t)
		require.Equal(t, []string{v1.Finalizer}, f.writer(t).Finalizers)
	})
	t.Run("a lost finalizer", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, d, process)
		f.setFinalizers(t, `null`)
		f.settle(t)
		require.Equal(t, []string{v1.Finalizer}, f.writer(t).Finalizers, "the row is still claimed")
	})
}

// requireRowExists waits until Ready is False, as the row belongs to somebody else, and requires
// that the PostgresWriter has no finalizer.
func (f fixture) requireRowExists(t *testing.T, says string) {
	t.Helper()
	ready := f.waitForReason(t, "RowExists")
	require.Contains(t, ready.Message, strings.ReplaceAll(says, "KEY", f.key()))
	require.Contains(t, ready.Message, "--adopt-rows")
	require.Empty(t, f.writer(t).Finalizers)
}

// TestRowAppears has somebody insert the row at the same time as the operator. The operator does
// not see the row before it wants to insert its own.
func TestRowAppears(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureAllowingErrors(t, d) // it may have to wait longer for the other insert than it does
	tx, err := d.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }() // it may have been committed below
	_, err = tx.Exec(t.Context(), "insert into students (id, name, age, country) values ($1, $2, $3, $4)", f.key(), berta.Name, berta.Age, berta.Country)
	require.NoError(t, err)

	mark := shared.Mark()
	f.create(t)
	eventually(t, func(context.Context) error {
		f.touch(t)
		waiting := query[int](t, d, "select count(*) from pg_stat_activity where application_name = $1 and datname = current_database() "+
			"and wait_event_type = 'Lock' and query like '%insert into%'", application)[0]
		return expect(waiting > 0, "it does not wait for the other insert: %s", lastLines(f.operator.Log()))
	})
	require.NoError(t, tx.Commit(t.Context()))
	f.touch(t)
	f.requireRowExists(t, "")
	require.NotContains(t, tests.Requests(t, mark, f.namespace), "patch postgreswriters", "it never had the finalizer")
	require.Equal(t, map[string]row{f.key(): berta}, d.rows(t, "students"))
}

// TestAdoptRows has an operator that may overwrite the rows of some PostgresWriters that have no claim.
func TestAdoptRows(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	f := newFixtureWithOwnOperator(t, d, "--tables=students,teachers")
	d.insert(t, "students", f.key(), berta)
	d.insert(t, "teachers", f.key(), berta)
	d.insert(t, "students", "stranger", berta)
	f.create(t, inTable("teachers"))
	f.requireRowExists(t, "")
	restored, other := f.withName("restored"), f.withName("other")
	restored.create(t)
	restored.waitUntilReady(t)
	require.NoError(t, f.operator.Stop())
	restored.setClaim(t, "the UID before the restore")
	d.insert(t, "students", other.key(), berta)
	other.create(t)

	f.operator = start(t, d, "--watch-namespace", f.namespace, "--tables=students,teachers", "--adopt-rows="+f.key()+","+restored.key())
	f.settle(t)
	require.Equal(t, map[string]row{f.key(): alex}, d.rows(t, "teachers"))
	restored.operator = f.operator
	restored.settle(t)
	for _, one := range []fixture{f, restored} {
		require.Equal(t, []string{v1.Finalizer}, one.writer(t).Finalizers)
	}
	other.requireRowExists(t, "")
	require.NoError(t, f.operator.Stop())

	f.operator = start(t, d, "--watch-namespace", f.namespace, "--tables=students,teachers", "--adopt-rows=elsewhere,"+f.namespace)
	other.operator = f.operator
	other.settle(t)
	for _, one := range []fixture{f, restored, other} {
		one.delete(t)
		one.waitUntilGone(t)
	}
	require.Equal(t, []string{"stranger"}, d.keys(t, "students"))
	require.Empty(t, d.keys(t, "teachers"))
}

// TestAdoptNothing deletes a PostgresWriter that may adopt a row, and could not: the row stays.
func TestAdoptNothing(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = start(t, d, "--watch-namespace", f.namespace, "--adopt-rows="+f.namespace)
	d.insert(t, "students", f.key(), berta)
	f.create(t, inTable("unlisted"))
	f.waitForReason(t, "TableNotAllowed")
	require.Nil(t, f.writer(t).Status.Claimed)
	f.delete(t)
	f.waitUntilGone(t)
	require.Equal(t, berta, d.rows(t, "students")[f.key()])
}

// TestSpecChangesDuringClaim changes the spec between the insert and the finalizer, whose answer has the new spec. The row is
// that of the former one, and no report says otherwise.
func TestSpecChangesDuringClaim(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students", "teachers")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	admin := admin(t)
	var hasChanged, isCommitted atomic.Bool
	checked := make(chan struct{})
	p := newProxy(t, d, 0, func(message string) bool {
		switch {
		case strings.Contains(message, "insert into") && !hasChanged.Swap(true):
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"table":"teachers"}}`))
			return admin.Patch(context.Background(), f.named(), patch) == nil
		case message == commit:
			isCommitted.Store(true)
		case isCommitted.Load() && strings.Contains(message, f.key()):
			<-checked // the next reconcile
		}
		return true
	})
	f.operator = startAllowingErrors(t, p.env(d), "--watch-namespace", f.namespace, "--tables=students,teachers")
	f.create(t)
	eventually(t, func(context.Context) error {
		return expect(isCommitted.Load() && f.reconciles() >= 2, "%d reconciles", f.reconciles())
	})
	require.Equal(t, []string{f.key()}, d.keys(t, "students"))
	require.NotEqual(t, "Written", condition(f.writer(t)).Reason, "%+v", f.writer(t).Status)
	close(checked)
	f.waitUntilReady(t)
	require.Empty(t, d.keys(t, "students"))
}
