package postgreswriter_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
)

const (
	// manyRows is more than a statement reads.
	manyRows = 10_000
	// manyLimit bounds the time to write or reconcile them.
	manyLimit = 20 * time.Minute
)

// TestManyRows measures an operator with ten thousand rows, which docs/operators.md has the figures of. In each round, one
// statement reads a thousand rows, and a row that was edited by hand is restored.
func TestManyRows(t *testing.T) {
	longform.Only(t)
	d := newDatabase(t, server, "students")
	installed(t)
	f := fixture{database: d, namespace: shared.Namespace(t), name: nth("alex", 17)}
	f.createMany(t)
	for _, roundTrip := range []time.Duration{20 * time.Millisecond, 0} {
		metrics, before := reservePort(t), d.selects(t)
		f.operator = startAllowingErrors(t, newProxy(t, d, roundTrip/2, nil).env(d), "--watch-namespace", f.namespace,
			"--check-interval=10s", "--zap-log-level=1", "--metrics-bind-address", metrics)
		began := time.Now()
		require.NoError(t, shared.Await(t.Context(), manyLimit, "", func(context.Context) error {
			last := f.lastRound()
			return expect(last["rows"] == float64(manyRows) && last["woken"] == float64(0) && samples(t, metrics)[`rows{table="students"}`] == "10000" &&
				f.hasQuietQueue(t, metrics), "%v", last)
		}))
		t.Logf("round trip %s: the first reconcile of all takes %.0f s, %d statements that read", roundTrip, time.Since(began).Seconds(), d.selects(t)-before)

		f.waitForRounds(t, 1)
		before, rounds := d.selects(t), len(f.operator.Entries("compared rows"))
		f.waitForRounds(t, 1)
		statements := (d.selects(t) - before) / (len(f.operator.Entries("compared rows")) - rounds)
		t.Logf("round trip %s: a round takes %.2f s and %d statements that read; memory %.0f MiB", roundTrip, f.lastRound()["seconds"],
			statements, metric(t, metrics, "process_resident_memory_bytes")/(1<<20))
		require.LessOrEqual(t, statements, manyRows/1000+1)

		d.exec(t, "update students set age = 99 where id = $1", f.key())
		f.waitForRow(t, "students", &alex)
		if roundTrip == 0 {
			f.deleteMany(t)
		}
		require.NoError(t, f.operator.Stop())
	}
}

// deleteMany deletes the PostgresWriters and, by the operator, their rows. Other tests have operators for all namespaces.
func (f fixture) deleteMany(t *testing.T) {
	t.Helper()
	began := time.Now()
	group, within := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range manyRows { // the API server would not delete all in the time of one request
		one := f.withName(nth("alex", i))
		group.Go(func() error { return admin(t).Delete(within, one.named()) })
	}
	require.NoError(t, group.Wait())
	require.NoError(t, shared.Await(t.Context(), manyLimit, "", func(ctx context.Context) error {
		var left v1.PostgresWriterList
		err := admin(t).List(ctx, &left, client.InNamespace(f.namespace), client.Limit(1))
		return errors.Join(err, expect(len(left.Items) == 0, "there are PostgresWriters left"))
	}))
	t.Logf("the deletion of all takes %.0f s", time.Since(began).Seconds())
	require.Empty(t, f.database.keys(t, "students"))
}

// createMany creates the PostgresWriters and their rows, as an operator has left them.
func (f fixture) createMany(t *testing.T) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range manyRows {
		one := f.withName(nth("alex", i))
		group.Go(func() error { return one.createWritten(ctx, admin(t)) })
	}
	require.NoError(t, group.Wait())
	f.database.exec(t, "insert into students (id, name, age, country) select $1 || '/alex-' || i, $2, $3, $4 from generate_series(0, $5) i",
		f.namespace, alex.Name, alex.Age, alex.Country, manyRows-1)
}

// createWritten creates a PostgresWriter whose status says that the row is written.
func (f fixture) createWritten(ctx context.Context, admin client.Client) error {
	writer := f.named()
	writer.Finalizers = []string{v1.Finalizer}
	writer.Spec = v1.PostgresWriterSpec{Table: "students", Name: alex.Name, Age: int32(alex.Age), Country: alex.Country}
	if err := admin.Create(ctx, writer); err != nil {
		return err
	}
	writer.Status = v1.PostgresWriterStatus{
		ObservedGeneration: writer.Generation, ID: f.key(), Table: "students", Claimed: &v1.RowClaim{Key: f.key(), UID: writer.UID},
	}
	meta.SetStatusCondition(&writer.Status.Conditions, metav1.Condition{
		Type: v1.ReadyCondition, Status: metav1.ConditionTrue, Reason: "Written", Message: "the row matches the spec",
		ObservedGeneration: writer.Generation,
	})
	return admin.Status().Update(ctx, writer)
}

// lastRound returns the log entry of the last comparison.
func (f fixture) lastRound() operator.Entry {
	compared := f.operator.Entries("compared rows")
	if len(compared) == 0 {
		return nil
	}
	return compared[len(compared)-1]
}

// hasQuietQueue reports whether all PostgresWriters have been reconciled, and none waits.
func (f fixture) hasQuietQueue(t *testing.T, metrics string) bool {
	t.Helper()
	return metric(t, metrics, `workqueue_depth{controller="postgreswriter"`) == 0 &&
		metric(t, metrics, `controller_runtime_reconcile_total{controller="postgreswriter"`) >= manyRows
}

// metric returns the sum of the metrics whose text begins so.
func metric(t *testing.T, address, prefix string) (sum float64) {
	t.Helper()
	for line := range strings.Lines(scrape(t, address)) {
		if strings.HasPrefix(line, prefix) {
			value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:len(line)-1], 64)
			require.NoError(t, err)
			sum += value
		}
	}
	return sum
}

// selects counts the statements of the operator that read.
func (d *database) selects(t *testing.T) int {
	t.Helper()
	d.written(t) // makes the statistics
	return query[int](t, d, `select coalesce(sum(calls), 0)::bigint from statistics.pg_stat_statements
		where userid = $1::regrole and query ~* '^\s*(select|with)' and query !~ 'set_config'`, d.user)[0]
}
