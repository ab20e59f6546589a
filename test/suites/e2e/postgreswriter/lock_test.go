package postgreswriter_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestGlobalLock has two operators share a database, of which one is active.
func TestGlobalLock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end func(*operator.Process) error
		// isFree means that the lock is available at once.
		isFree bool
	}{
		"taken over from a dead one": {end: (*operator.Process).Kill},
		"handed over":                {end: (*operator.Process).Stop, isFree: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server, "students")
			f := fixture{database: d, namespace: shared.Namespace(t), name: "alex", cluster: "blue"}
			args := []string{"--watch-namespace", f.namespace, "--global-lock", "--cluster-name=blue"}
			first := startAllowingErrors(t, d.env(), args...)
			waitForWorkers(t, first)
			second := startAllowingErrors(t, d.env(), args...)
			waitForAttempt(t, second)
			f.operator = first
			f.create(t)
			f.settle(t)
			earlier := holder(t, d)
			pod, err := os.Hostname()
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(earlier, "blue/"+pod+"_"), "%s names cluster and pod", earlier)
			require.Equal(t, 1, f.changes("Inserted"))
			require.False(t, hasStartedWorkers(second), "it waits")

			require.NoError(t, test.end(first))
			if test.isFree {
				require.NotEqual(t, earlier, holder(t, d))
			} else {
				require.Equal(t, earlier, holder(t, d), "until its time is over")
			}
			f.change(t, `{"age":24}`)
			f.operator = second
			f.settle(t)
			require.NotEqual(t, earlier, holder(t, d))
			require.Equal(t, 1, f.changes("Updated"))
		})
	}
	t.Run("lost to somebody else", func(t *testing.T) {
		t.Parallel()
		testLostLock(t)
	})
	t.Run("kept while a table is locked", func(t *testing.T) {
		t.Parallel()
		testLockedTable(t)
	})
}

// testLockedTable has a user lock the table, as the creation of an index does, while all workers
// want to write. The operator must still renew its lock.
func testLockedTable(t *testing.T) {
	d := newDatabase(t, server, "students")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = startAllowingErrors(t, d.env(), "--watch-namespace", f.namespace, "--global-lock", "--check-interval=5s")
	var fixtures []fixture
	for i := range 8 {
		one := f.withName(nth("alex", i))
		one.create(t)
		one.waitUntilReady(t)
		fixtures = append(fixtures, one)
	}
	renewals := func() int { return query[int](t, d, "select version from postgreswriter_lease")[0] }

	tx := d.lock(t, "students", "share")
	before := renewals()
	for _, one := range fixtures {
		one.change(t, `{"age":24}`)
	}
	eventually(t, func(context.Context) error {
		for _, one := range fixtures {
			one.touch(t)
		}
		return expect(renewals() >= before+4, "%d renewals; the operator says: %s", renewals()-before, lastLines(f.operator.Log()))
	})
	require.NoError(t, tx.Rollback(t.Context()))
	for _, one := range fixtures {
		one.waitUntilReady(t)
	}
}

// testLostLock has another session take the operator's lock. From then on the operator writes
// nothing, although it has not noticed yet, and ends once it notices.
func testLostLock(t *testing.T) {
	d := newDatabase(t, server, "students")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = startAllowingErrors(t, d.env(), "--watch-namespace", f.namespace, "--global-lock", "--check-interval=1s")
	f.create(t)
	f.waitUntilReady(t)
	going := f.withName("going")
	going.create(t)
	going.waitUntilReady(t)

	d.exec(t, "update postgreswriter_lease set holder = 'stranger', version = version + 1, renewed = now()")
	want, written := d.rows(t, "students"), d.written(t)
	f.change(t, `{"age":24}`)
	f.withName("coming").create(t)
	going.delete(t)
	waitForExit(t, f.operator)
	require.Contains(t, f.operator.Log(), "this operator does not have the global lock")
	require.Equal(t, metav1.ConditionTrue, condition(f.writer(t)).Status, "how it stands is for another to say")
	require.Equal(t, written.Rows, d.written(t).Rows, "it writes nothing")
	require.Equal(t, want, d.rows(t, "students"))
	require.Equal(t, "stranger", holder(t, d))
	require.Contains(t, f.operator.Log(), "an operator without the global lock may not write, so it stops")
	require.Contains(t, f.operator.Log(), "another operator took over")
}

// waitForAttempt waits until an operator has tried to get the lock in vain.
func waitForAttempt(t *testing.T, process *operator.Process) {
	t.Helper()
	eventually(t, func(context.Context) error {
		return expect(len(process.Entries("Failed to acquire lease")) > 0, "no attempt: %s", lastLines(process.Log()))
	})
}

// holder returns the holder of the global lock, "" if the lock is free.
func holder(t *testing.T, d *database) string {
	t.Helper()
	return query[string](t, d, "select holder from postgreswriter_lease")[0]
}

// TestManyWorkers has several workers write slowly under the global lock, one at a time: none of them waits too long.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	p := newProxy(t, d, 10*time.Millisecond, nil)
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = startAllowingErrors(t, p.env(d), "--watch-namespace", f.namespace, "--global-lock", "--workers=8")
	waitForWorkers(t, f.operator)
	var all []fixture
	for i := range 16 {
		all = append(all, f.withName(nth("alex", i)))
		all[i].create(t)
	}
	for _, one := range all {
		one.waitUntilReady(t)
	}
	require.NotContains(t, f.operator.Log(), "lock timeout")
}

// TestLockedRow has another session change a row, and not commit. That is no lock of the table.
func TestLockedRow(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureAllowingErrors(t, d)
	other := f.withName("other")
	for _, one := range []fixture{f, other} {
		one.create(t)
		one.waitUntilReady(t)
	}
	tx := d.begin(t, "update students set country = 'cuba' where id = $1", f.key())
	f.change(t, `{"age":24}`)
	require.Equal(t, `a row of table "students" is locked by another session`, f.waitForReason(t, "TableLocked").Message)
	other.change(t, `{"age":24}`)
	other.waitUntilReady(t)
	require.Empty(t, tests.Warnings(t, f.namespace, other.name, "TableLocked"))
	require.NoError(t, tx.Rollback(t.Context()))
	f.waitUntilReady(t)
}
