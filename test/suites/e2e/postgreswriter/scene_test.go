package postgreswriter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// A scene is a PostgresWriter, its operator, and the operator's database.
type scene struct {
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

// launch runs an operator that may have reason to complain, or to end, until the test ends.
func launch(t *testing.T, env []string, args ...string) *operator.Process {
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
		return expect(works(process), "it does not reconcile: %s", lastLines(process.Log()))
	})
}

func works(process *operator.Process) bool { return len(process.Entries("Starting workers")) > 0 }

// newScene creates a PostgresWriter in its own namespace, and waits until the row exists and
// nothing changes any more.
func newScene(t *testing.T, d *database, process *operator.Process) scene {
	t.Helper()
	s := emptyScene(t, d, process)
	s.create(t)
	s.settle(t)
	return s
}

func emptyScene(t *testing.T, d *database, process *operator.Process) scene {
	t.Helper()
	return scene{operator: process, database: d, namespace: shared.Namespace(t), name: "alex"}
}

// called returns a scene with another PostgresWriter in the same namespace.
func (s scene) called(name string) scene {
	s.name = name
	return s
}

func (s scene) key() string {
	key := s.namespace + "/" + s.name
	if s.cluster != "" {
		key = s.cluster + "/" + key
	}
	return key
}

// create makes the scene's PostgresWriter, changed by mutate.
func (s scene) create(t *testing.T, mutate ...func(*v1.PostgresWriterSpec)) {
	t.Helper()
	require.NoError(t, s.tryCreate(t, mutate...))
}

func (s scene) tryCreate(t *testing.T, mutate ...func(*v1.PostgresWriterSpec)) error {
	t.Helper()
	writer := s.named()
	writer.Spec = v1.PostgresWriterSpec{Table: "students", Name: alex.Name, Age: int32(alex.Age), Country: alex.Country}
	for _, change := range mutate {
		change(&writer.Spec)
	}
	return human(t).Create(t.Context(), writer)
}

func inTable(table string) func(*v1.PostgresWriterSpec) {
	return func(spec *v1.PostgresWriterSpec) { spec.Table = table }
}

// named is the PostgresWriter by name and nothing else.
func (s scene) named() *v1.PostgresWriter {
	return &v1.PostgresWriter{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
}

func (s scene) writer(t *testing.T) *v1.PostgresWriter {
	t.Helper()
	writer := s.named()
	require.NoError(t, human(t).Get(t.Context(), client.ObjectKeyFromObject(writer), writer))
	return writer
}

// change patches the PostgresWriter's spec.
func (s scene) change(t *testing.T, spec string) {
	t.Helper()
	tests.Merge(t, s.named(), `{"spec":`+spec+`}`)
}

// setFinalizers replaces the finalizers, as a person may do.
func (s scene) setFinalizers(t *testing.T, list string) {
	t.Helper()
	tests.Merge(t, s.named(), `{"metadata":{"finalizers":`+list+`}}`)
}

func (s scene) delete(t *testing.T) {
	t.Helper()
	require.NoError(t, human(t).Delete(t.Context(), s.named()))
}

// touch makes the operator reconcile the PostgresWriter again, if it still exists.
func (s scene) touch(t *testing.T) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":"%d"}}}`, time.Now().UnixNano()))
	require.NoError(t, client.IgnoreNotFound(human(t).Patch(t.Context(), s.named(), patch)))
}

// reconcile makes the operator reconcile the PostgresWriter again, and waits until it has.
func (s scene) reconcile(t *testing.T) {
	t.Helper()
	tests.Reconcile(t, s.operator, s.named())
}

// logged are the lines about the PostgresWriter with one of the messages.
func (s scene) logged(messages ...string) []operator.Entry {
	return slices.DeleteFunc(s.operator.Entries(messages...), func(entry operator.Entry) bool {
		return !entry.About("PostgresWriter", s.namespace, s.name)
	})
}

// reconciles is how often the operator has looked at the PostgresWriter.
func (s scene) reconciles() int { return len(s.logged("Reconciling")) }

// changes returns how often the operator logged this change of the row.
func (s scene) changes(change string) int {
	return len(slices.DeleteFunc(s.logged("wrote row"), func(entry operator.Entry) bool { return entry.Text("change") != change }))
}

// settle waits until the row matches the spec, Ready is up to date, and the operator has nothing
// left to do.
func (s scene) settle(t *testing.T) {
	t.Helper()
	tests.Settle(t, s.operator, s.named(), func(context.Context) error { return s.isAsItShouldBe(t) })
}

// waitUntilReady waits until the row matches the spec and Ready is up to date.
func (s scene) waitUntilReady(t *testing.T) {
	t.Helper()
	eventually(t, func(context.Context) error { return s.isAsItShouldBe(t) })
}

func (s scene) isAsItShouldBe(t *testing.T) error {
	t.Helper()
	writer := s.writer(t)
	ready := condition(writer)
	if ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != writer.Generation {
		return expect(false, "generation %d is not ready: %+v; the operator says: %s", writer.Generation, writer.Status, lastLines(s.operator.Log()))
	}
	want := v1.PostgresWriterStatus{
		ObservedGeneration: writer.Generation, Conditions: writer.Status.Conditions, ID: s.key(), Table: writer.Spec.Table,
	}
	if diff := cmp.Diff(want, writer.Status); diff != "" {
		return errors.New(diff)
	}
	spec := writer.Spec
	diff := cmp.Diff(row{Name: spec.Name, Age: int(spec.Age), Country: spec.Country}, s.database.rows(t, spec.Table)[s.key()])
	return expect(diff == "", "the row is different: %s", diff)
}

// waitForReason waits until the PostgresWriter is not ready for this reason.
func (s scene) waitForReason(t *testing.T, reason string) metav1.Condition {
	t.Helper()
	var ready metav1.Condition
	eventually(t, func(context.Context) error {
		writer := s.writer(t)
		ready = condition(writer)
		return expect(ready.Status == metav1.ConditionFalse && ready.Reason == reason && ready.ObservedGeneration == writer.Generation,
			"expected reason %s, seen %+v", reason, ready)
	})
	return ready
}

// waitUntilGone waits until the PostgresWriter is not there.
func (s scene) waitUntilGone(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		err := human(t).Get(ctx, client.ObjectKeyFromObject(s.named()), s.named())
		return expect(apierrors.IsNotFound(err), "%s is not gone: %v; the operator says: %s", s.key(), err, lastLines(s.operator.Log()))
	})
}

// waitForRow waits until a table has the row, or has none with the key if that is nil.
func (s scene) waitForRow(t *testing.T, table string, want *row) {
	t.Helper()
	eventually(t, func(context.Context) error {
		is, there := s.database.rows(t, table)[s.key()]
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

// alone returns a scene without a PostgresWriter. Its operator watches only its namespace, as other
// operators may run at the same time.
func alone(t *testing.T, d *database, args ...string) scene {
	t.Helper()
	s := scene{database: d, namespace: shared.Namespace(t), name: "alex"}
	s.operator = start(t, d, append([]string{"--watch-namespace", s.namespace}, args...)...)
	return s
}

// disturbed is a scene like alone, whose operator may have reason to complain.
func disturbed(t *testing.T, d *database, args ...string) scene {
	t.Helper()
	s := scene{database: d, namespace: shared.Namespace(t), name: "alex"}
	s.operator = launch(t, d.env(), append([]string{"--watch-namespace", s.namespace}, args...)...)
	waitForWorkers(t, s.operator)
	return s
}
