package postgreswriter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// A fixture is a PostgresWriter, its operator, and the operator's database.
type fixture struct {
	operator  *operator.Process
	database  *database
	namespace string
	name      string
	// cluster is the operator's --cluster-name.
	cluster string
}

// alex is the default row of a PostgresWriter, in table students.
var alex = row{Name: "alex", Age: 23, Country: "canada"}

// start runs the operator on a database until the test ends. The log must not contain errors then.
func start(t *testing.T, d *database, args ...string) *operator.Process {
	t.Helper()
	o := installed(t)
	o.Env = d.env()
	process := tests.StartWith(t, o, args...)
	t.Cleanup(func() { requireNoSecret(t, "the log", process.Log()) })
	return process
}

// startAllowingErrors runs an operator until the test ends. The operator may log errors, and may end.
func startAllowingErrors(t *testing.T, env []string, args ...string) *operator.Process {
	t.Helper()
	o := installed(t)
	o.Env = env
	process, err := o.Run(args...)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = process.Stop() // it may have ended, and badly
		requireNoSecret(t, "the log", process.Log())
	})
	return process
}

// waitForWorkers waits until an operator reconciles.
func waitForWorkers(t *testing.T, process *operator.Process) {
	t.Helper()
	eventually(t, func(context.Context) error {
		return expect(hasStartedWorkers(process), "it does not reconcile: %s", lastLines(process.Log()))
	})
}

func hasStartedWorkers(process *operator.Process) bool {
	return len(process.Entries("Starting workers")) > 0
}

// newFixture creates a PostgresWriter in its own namespace, and waits until the row exists and
// nothing changes any more.
func newFixture(t *testing.T, d *database, process *operator.Process) fixture {
	t.Helper()
	f := newEmptyFixture(t, d, process)
	f.create(t)
	f.settle(t)
	return f
}

func newEmptyFixture(t *testing.T, d *database, process *operator.Process) fixture {
	t.Helper()
	return fixture{operator: process, database: d, namespace: shared.Namespace(t), name: "alex"}
}

// withName returns a fixture with another PostgresWriter in the same namespace.
func (f fixture) withName(name string) fixture {
	f.name = name
	return f
}

func (f fixture) key() string {
	key := f.namespace + "/" + f.name
	if f.cluster != "" {
		key = f.cluster + "/" + key
	}
	return key
}

// create makes the fixture's PostgresWriter, changed by mutate.
func (f fixture) create(t *testing.T, mutate ...func(*v1.PostgresWriterSpec)) {
	t.Helper()
	f.createAs(t, f.named(), mutate...)
}

// createClaimed is like create, and the PostgresWriter has the finalizer from the start, and then the claim.
func (f fixture) createClaimed(t *testing.T) {
	t.Helper()
	writer := f.named()
	writer.Finalizers = []string{v1.Finalizer}
	f.createAs(t, writer)
	f.setClaim(t, writer.UID)
}

// setClaim writes the claim of a PostgresWriter with that UID into the status, which wakes nobody.
func (f fixture) setClaim(t *testing.T, uid types.UID) {
	t.Helper()
	f.setStatus(t, fmt.Sprintf(`{"claimed":{"key":%q,"uid":%q}}`, f.key(), uid))
}

// setStatus patches the status.
func (f fixture) setStatus(t *testing.T, status string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	require.NoError(t, admin(t).Status().Patch(t.Context(), f.named(), patch))
}

func (f fixture) createAs(t *testing.T, writer *v1.PostgresWriter, mutate ...func(*v1.PostgresWriterSpec)) {
	t.Helper()
	writer.Spec = v1.PostgresWriterSpec{Table: "students", Name: alex.Name, Age: int32(alex.Age), Country: alex.Country}
	for _, change := range mutate {
		change(&writer.Spec)
	}
	require.NoError(t, admin(t).Create(t.Context(), writer))
}

func inTable(table string) func(*v1.PostgresWriterSpec) {
	return func(spec *v1.PostgresWriterSpec) { spec.Table = table }
}

// named is the PostgresWriter by name and nothing else.
func (f fixture) named() *v1.PostgresWriter {
	return &v1.PostgresWriter{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name}}
}

func (f fixture) writer(t *testing.T) *v1.PostgresWriter {
	t.Helper()
	writer := f.named()
	require.NoError(t, admin(t).Get(t.Context(), client.ObjectKeyFromObject(writer), writer))
	return writer
}

// change patches the PostgresWriter's spec.
func (f fixture) change(t *testing.T, spec string) {
	t.Helper()
	tests.Merge(t, f.named(), `{"spec":`+spec+`}`)
}

// setFinalizers replaces the finalizers, as a user may do.
func (f fixture) setFinalizers(t *testing.T, list string) {
	t.Helper()
	tests.Merge(t, f.named(), `{"metadata":{"finalizers":`+list+`}}`)
}

func (f fixture) delete(t *testing.T) {
	t.Helper()
	require.NoError(t, admin(t).Delete(t.Context(), f.named()))
}

// touch makes the operator reconcile the PostgresWriter again, if it still exists.
func (f fixture) touch(t *testing.T) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":"%d"}}}`, time.Now().UnixNano()))
	require.NoError(t, client.IgnoreNotFound(admin(t).Patch(t.Context(), f.named(), patch)))
}

// reconcile makes the operator reconcile the PostgresWriter again, and waits until it has.
func (f fixture) reconcile(t *testing.T) {
	t.Helper()
	tests.Reconcile(t, f.operator, f.named())
}

// logged are the lines about the PostgresWriter with one of the messages.
func (f fixture) logged(messages ...string) []operator.Entry {
	return slices.DeleteFunc(f.operator.Entries(messages...), func(entry operator.Entry) bool {
		return !entry.About("PostgresWriter", f.namespace, f.name)
	})
}

// reconciles is how often the operator has looked at the PostgresWriter.
func (f fixture) reconciles() int { return len(f.logged("Reconciling")) }

// changes returns how often the operator logged this change of the row.
func (f fixture) changes(change string) int {
	return len(slices.DeleteFunc(f.logged("wrote row"), func(entry operator.Entry) bool { return entry.Text("change") != change }))
}

// settle waits until the row matches the spec, Ready is up to date, and the operator has nothing
// left to do.
func (f fixture) settle(t *testing.T) {
	t.Helper()
	tests.Settle(t, f.operator, f.named(), func(context.Context) error { return f.checkState(t) })
}

// waitUntilReady waits until the row matches the spec and Ready is up to date.
func (f fixture) waitUntilReady(t *testing.T) {
	t.Helper()
	eventually(t, func(context.Context) error { return f.checkState(t) })
}

func (f fixture) checkState(t *testing.T) error {
	t.Helper()
	writer := f.writer(t)
	ready := condition(writer)
	if ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != writer.Generation {
		return expect(false, "generation %d is not ready: %+v; the operator says: %s", writer.Generation, writer.Status, lastLines(f.operator.Log()))
	}
	want := v1.PostgresWriterStatus{
		ObservedGeneration: writer.Generation, Conditions: writer.Status.Conditions, ID: f.key(), Table: writer.Spec.Table,
		Claimed: &v1.RowClaim{Key: f.key(), UID: writer.UID},
	}
	if diff := cmp.Diff(want, writer.Status, cmpopts.IgnoreFields(v1.RowClaim{}, "Unchecked")); diff != "" {
		return errors.New(diff)
	}
	spec := writer.Spec
	diff := cmp.Diff(row{Name: spec.Name, Age: int(spec.Age), Country: spec.Country}, f.database.rows(t, spec.Table)[f.key()])
	return expect(diff == "", "the row is different: %s", diff)
}

// waitForReason waits until the PostgresWriter is not ready for this reason.
func (f fixture) waitForReason(t *testing.T, reason string) metav1.Condition {
	t.Helper()
	var ready metav1.Condition
	eventually(t, func(context.Context) error {
		writer := f.writer(t)
		ready = condition(writer)
		return expect(ready.Status == metav1.ConditionFalse && ready.Reason == reason && ready.ObservedGeneration == writer.Generation,
			"expected reason %s, seen %+v", reason, ready)
	})
	return ready
}

// waitUntilGone waits until the PostgresWriter is not there.
func (f fixture) waitUntilGone(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		err := admin(t).Get(ctx, client.ObjectKeyFromObject(f.named()), f.named())
		return expect(apierrors.IsNotFound(err), "%s is not gone: %v; the operator says: %s", f.key(), err, lastLines(f.operator.Log()))
	})
}

// waitForRow waits until a table has the row, or has none with the key if that is nil.
func (f fixture) waitForRow(t *testing.T, table string, want *row) {
	t.Helper()
	eventually(t, func(context.Context) error {
		is, there := f.database.rows(t, table)[f.key()]
		return expect(there == (want != nil) && is == ptr.Deref(want, row{}), "%s has %+v, %t", table, is, there)
	})
}

// condition returns Ready, or the zero condition if Ready is missing.
func condition(writer *v1.PostgresWriter) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(writer.Status.Conditions, v1.ReadyCondition), metav1.Condition{})
}

// requireNoSecret looks for the password in a text.
func requireNoSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range secrets {
		require.NotContains(t, text, secret, "%s has the password", what)
	}
}

// lastLines is the end of a log.
func lastLines(log string) string { return log[max(0, len(log)-2000):] }

// skipUnsupported skips a test that needs a server of ours.
func skipUnsupported(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
}

// newFixtureWithOwnOperator returns a fixture without a PostgresWriter. Its operator watches only its
// namespace, as other operators may run at the same time.
func newFixtureWithOwnOperator(t *testing.T, d *database, args ...string) fixture {
	t.Helper()
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = start(t, d, append([]string{"--watch-namespace", f.namespace}, args...)...)
	return f
}

// newFixtureAllowingErrors is like newFixtureWithOwnOperator, but the operator may log errors.
func newFixtureAllowingErrors(t *testing.T, d *database, args ...string) fixture {
	t.Helper()
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	f.operator = startAllowingErrors(t, d.env(), append([]string{"--watch-namespace", f.namespace}, args...)...)
	waitForWorkers(t, f.operator)
	return f
}
