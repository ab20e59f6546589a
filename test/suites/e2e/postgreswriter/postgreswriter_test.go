package postgreswriter_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// TestRows creates, changes, moves and deletes rows with one operator, run as in its Deployment.
func TestRows(t *testing.T) {
	d := newDatabase(t, server, "students", "teachers")
	o := installed(t)
	process := start(t, d, "--leader-elect", "--leader-election-namespace", o.Namespace, "--tables=students,teachers")
	require.Contains(t, process.Log(), `"msg":"watching","namespace":"all namespaces"`)
	require.Contains(t, process.Log(), `"tables":["students","teachers"]`)
	for name, test := range map[string]func(*testing.T, *database, *operator.Process){
		"the sample":                              testSample,
		"a life":                                  testLife,
		"moves in one transaction":                testMoves,
		"rows in several tables":                  testScatteredRows,
		"a row in the way of a move":              testRowInTheWay,
		"a row from before a crash":               testRowBeforeCrash,
		"a corrupted status":                      testCorruptedStatus,
		"somebody else's finalizer is left alone": testForeignFinalizer,
		"a name that was used before":             testNameUsedBefore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d, process)
		})
	}
}

// testSample follows the steps of a new user.
func testSample(t *testing.T, d *database, _ *operator.Process) {
	require.Equal(t, "postgreswriter.demo.yash.com/sample-student created",
		kubectl(t, "apply", "-k", filepath.Join(installed(t).Dir, "config", "samples")))
	kubectl(t, "wait", "--for=condition=Ready", "--timeout="+suite.Limit.String(), "postgreswriter/sample-student")
	require.Equal(t, row{Name: "alex", Age: 23, Country: "canada"}, d.rows(t, "students")["default/sample-student"])

	columns := strings.Split(kubectl(t, "get", "postgreswriters", "sample-student"), "\n")
	require.Equal(t, []string{"NAME", "TABLE", "READY", "REASON", "AGE"}, strings.Fields(columns[0]))
	require.Regexp(t, `^sample-student +students +True +Written +\d+s$`, columns[1])
	wide := strings.Split(kubectl(t, "get", "pgw", "sample-student", "-o", "wide"), "\n")
	require.Equal(t, []string{"NAME", "TABLE", "READY", "REASON", "ROW", "MESSAGE", "AGE"}, strings.Fields(wide[0]))
	require.Regexp(t, `^sample-student +students +True +Written +default/sample-student +the row matches the spec +\d+s$`, wide[1])

	kubectl(t, "patch", "postgreswriter", "sample-student", "--type=merge", "--patch", `{"spec":{"country":"norway"}}`)
	kubectl(t, "wait", "--for=condition=Ready", "--timeout="+suite.Limit.String(), "postgreswriter/sample-student")
	eventually(t, func(context.Context) error {
		is := d.rows(t, "students")["default/sample-student"]
		return expect(is.Country == "norway", "%+v", is)
	})
	kubectl(t, "delete", "postgreswriter", "sample-student")
	require.NotContains(t, d.rows(t, "students"), "default/sample-student", "the row goes before its PostgresWriter")
}

func testLife(t *testing.T, d *database, process *operator.Process) {
	f := newFixture(t, d, process)
	require.Equal(t, []string{v1.Finalizer}, f.writer(t).Finalizers)
	require.Equal(t, "the row matches the spec", condition(f.writer(t)).Message)

	f.change(t, `{"name":"alexandra","age":0,"country":"chile"}`)
	f.settle(t)
	require.Equal(t, row{Name: "alexandra", Country: "chile"}, d.rows(t, "students")[f.key()])
	f.change(t, `{"age":2147483647}`)
	f.settle(t)

	f.change(t, `{"table":"teachers"}`)
	f.settle(t)
	require.NotContains(t, d.rows(t, "students"), f.key())
	require.Equal(t, row{Name: "alexandra", Age: math.MaxInt32, Country: "chile"}, d.rows(t, "teachers")[f.key()])

	f.delete(t)
	f.waitUntilGone(t)
	require.NotContains(t, d.rows(t, "teachers"), f.key())
}

// testMoves reads all the time while a row is moved back and forth: the row is always in exactly
// one of the tables.
func testMoves(t *testing.T, d *database, process *operator.Process) {
	f := newFixture(t, d, process)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen, failed := map[string]int{}, make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			where, err := tablesWithRow(t.Context(), d, f.key())
			if err != nil {
				failed <- err
				return
			}
			seen[where]++
		}
		failed <- nil
	}()
	for _, table := range []string{"teachers", "students", "teachers", "students", "teachers", "students"} {
		f.change(t, `{"table":"`+table+`"}`)
		f.waitUntilReady(t)
	}
	stop()
	require.NoError(t, <-failed)
	require.NotEmpty(t, seen["students"])
	require.NotEmpty(t, seen["teachers"])
	require.Len(t, seen, 2, "one row at any time: %v", seen)
	require.Equal(t, 6, f.changes("Moved"))
}

// tablesWithRow returns the tables that have a row of the key, in one snapshot of the database.
func tablesWithRow(ctx context.Context, d *database, key string) (string, error) {
	var found []string
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, d.Pool, options, func(tx pgx.Tx) error {
		for _, table := range []string{"students", "teachers"} {
			var count int
			if err := tx.QueryRow(ctx, "select count(*) from "+table+" where id = $1", key).Scan(&count); err != nil {
				return err
			}
			for range count {
				found = append(found, table)
			}
		}
		return nil
	})
	return strings.Join(found, " and "), err
}

// testScatteredRows has copies of the row in the other table. With the finalizer, every row with
// the key belongs to the PostgresWriter: one is left, and none at the end.
func testScatteredRows(t *testing.T, d *database, process *operator.Process) {
	f := newFixture(t, d, process)
	d.insert(t, "teachers", f.key(), row{Name: "berta"})
	f.reconcile(t)
	f.settle(t)
	require.NotContains(t, d.rows(t, "teachers"), f.key())

	d.insert(t, "teachers", f.key(), row{Name: "berta"})
	f.delete(t)
	f.waitUntilGone(t)
	require.NotContains(t, d.rows(t, "students"), f.key())
	require.NotContains(t, d.rows(t, "teachers"), f.key())
}

// testRowInTheWay moves the row to a table in which somebody has inserted a row with the key. With
// the finalizer, the PostgresWriter owns its key in all listed tables, so the row is overwritten.
func testRowInTheWay(t *testing.T, d *database, process *operator.Process) {
	f := newFixture(t, d, process)
	d.insert(t, "teachers", f.key(), row{Name: "berta", Age: 99, Country: "cuba"})
	f.change(t, `{"table":"teachers"}`)
	f.settle(t)
	require.Equal(t, alex, d.rows(t, "teachers")[f.key()])
	require.NotContains(t, d.rows(t, "students"), f.key())
}

// testRowBeforeCrash has the row, the finalizer and the claim, and nothing else in the status, as after a crash
// between the commit and the report.
func testRowBeforeCrash(t *testing.T, d *database, process *operator.Process) {
	f := newEmptyFixture(t, d, process)
	d.insert(t, "students", f.key(), row{Name: "berta", Age: 99, Country: "cuba"})
	f.createClaimed(t)
	f.reconcile(t)
	f.settle(t)
	require.Equal(t, alex, d.rows(t, "students")[f.key()])
}

// testCorruptedStatus has somebody overwrite everything in the status but the claim.
func testCorruptedStatus(t *testing.T, d *database, process *operator.Process) {
	f := newFixture(t, d, process)
	writer := f.writer(t)
	writer.Status = v1.PostgresWriterStatus{
		ID: "some/body", Table: "teachers", ObservedGeneration: 7, Claimed: writer.Status.Claimed,
		Conditions: []metav1.Condition{{
			Type: v1.ReadyCondition, Status: metav1.ConditionFalse, Reason: "Broken", LastTransitionTime: metav1.Now(),
		}},
	}
	require.NoError(t, admin(t).Status().Update(t.Context(), writer))
	f.reconcile(t) // a status wakes nobody
	f.settle(t)
	require.Equal(t, alex, d.rows(t, "students")[f.key()])
}

func testForeignFinalizer(t *testing.T, d *database, process *operator.Process) {
	f := newFixture(t, d, process)
	f.setFinalizers(t, `["example.org/hold","`+v1.Finalizer+`"]`)
	f.settle(t)
	f.delete(t)
	ready := f.waitForReason(t, "Terminating")
	require.Equal(t, "the PostgresWriter has no row any more; somebody else's finalizer is left", ready.Message)
	require.Equal(t, []string{"example.org/hold"}, f.writer(t).Finalizers)
	require.NotContains(t, d.rows(t, "students"), f.key())

	mark := shared.Mark()
	f.reconcile(t)
	require.Empty(t, tests.Requests(t, mark, f.namespace), "nothing is left to do")
	require.NotContains(t, d.rows(t, "students"), f.key(), "nor is the row made again")
	f.setFinalizers(t, `null`)
	f.waitUntilGone(t)
}

func testNameUsedBefore(t *testing.T, d *database, process *operator.Process) {
	f := newFixture(t, d, process)
	for range 5 {
		f.delete(t)
		f.waitUntilGone(t)
		require.NotContains(t, d.rows(t, "students"), f.key())
		f.create(t)
		f.waitUntilReady(t)
	}
	f.settle(t)
}
