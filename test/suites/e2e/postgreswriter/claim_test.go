package postgreswriter_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestForgedFinalizer has an editor create a PostgresWriter with the finalizer of the operator, for a row of
// somebody else.
func TestForgedFinalizer(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d)
	d.insert(t, "students", f.key(), berta)
	editor := newEditor(t, f.namespace)
	writer := f.named()
	writer.Finalizers = []string{v1.Finalizer}
	writer.Spec = v1.PostgresWriterSpec{Table: "students", Name: alex.Name, Age: int32(alex.Age), Country: alex.Country}
	writer.Status.Claimed = &v1.RowClaim{Key: f.key(), UID: "forged"}
	writer.Status.ID = f.key()
	require.NoError(t, editor.Create(t.Context(), writer))
	f.waitForReason(t, "RowExists")
	require.Equal(t, berta, d.rows(t, "students")[f.key()])

	live := f.writer(t)
	require.Nil(t, live.Status.Claimed)
	live.Status.Claimed = &v1.RowClaim{Key: f.key(), UID: live.UID}
	require.True(t, apierrors.IsForbidden(editor.Status().Update(t.Context(), live)), "an editor cannot claim a row")
	f.reconcile(t)
	f.waitForReason(t, "RowExists")

	require.NoError(t, editor.Delete(t.Context(), f.named()))
	f.waitUntilGone(t)
	require.Equal(t, berta, d.rows(t, "students")[f.key()])
}

// newEditor returns the client of a user with the ClusterRole edit in the namespace.
func newEditor(t *testing.T, namespace string) client.Client {
	t.Helper()
	config := shared.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "editor-of-" + namespace}
	editor, err := client.New(config, client.Options{Scheme: admin(t).Scheme()})
	require.NoError(t, err)
	require.NoError(t, admin(t).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "editor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: config.Impersonate.UserName}},
	}))
	eventually(t, func(ctx context.Context) error { // kube-controller-manager aggregates the role
		return editor.List(ctx, &v1.PostgresWriterList{}, client.InNamespace(namespace))
	})
	return editor
}

// TestEarlierRelease has PostgresWriters as a release without claims has left them.
func TestEarlierRelease(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d)
	all := map[string]fixture{}
	for _, name := range []string{"written", "outage", "exists", "never"} {
		all[name] = f.withName(name)
		all[name].create(t)
		all[name].waitUntilReady(t)
	}
	require.NoError(t, f.operator.Stop())
	const ready = `{"claimed":null,"conditions":[{"type":"Ready","status":"False","reason":"REASON","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`
	all["written"].setStatus(t, `{"claimed":null,"observedGeneration":0}`)
	all["outage"].setStatus(t, strings.Replace(ready, "REASON", "DatabaseUnavailable", 1))
	all["exists"].setStatus(t, strings.Replace(ready, "REASON", "RowExists", 1))
	all["never"].setStatus(t, `{"claimed":null,"id":null}`)
	for _, one := range all {
		one.change(t, `{"age":24}`)
	}

	process := start(t, d, "--watch-namespace", f.namespace)
	for _, name := range []string{"written", "outage"} {
		one := all[name]
		one.operator = process
		one.settle(t)
	}
	for _, name := range []string{"exists", "never"} {
		all[name].waitForReason(t, "RowExists")
		require.Equal(t, alex, d.rows(t, "students")[all[name].key()])
	}

	// From then on, the claim counts.
	all["written"].setClaim(t, "another")
	all["written"].touch(t)
	all["written"].waitForReason(t, "RowExists")
}

// TestCrash kills the operator after each step of a claim. Then somebody inserts the row, or nobody does, and
// another operator starts.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// message is the SQL whose n-th sending ends the operator; "" if the API server's request for the claim does.
		message string
		n       int
		// hasFinalizer, hasClaim and hasRow are what is left.
		hasFinalizer, hasClaim, hasRow bool
	}{
		"before the insert":   {message: "insert into", n: 1},
		"after the insert":    {message: "set constraints", n: 1},
		"after the finalizer": {hasFinalizer: true},
		"after the claim":     {message: commit, n: 1, hasFinalizer: true, hasClaim: true},
		"after the commit":    {message: commit, n: 1, hasFinalizer: true, hasClaim: true, hasRow: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server, "students")
			f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
			crash := &crash{message: test.message, n: test.n, created: make(chan struct{})}
			if test.hasRow {
				crash.isLate = func() bool { // not on the goroutine of the test
					var count int
					err := d.Pool.QueryRow(t.Context(), "select count(*) from students").Scan(&count)
					return err != nil || count == 1
				}
			}
			p := newProxy(t, d, 0, crash.sending)
			crash.process = startAllowingErrors(t, p.env(d), "--watch-namespace", f.namespace)
			if test.message == "" {
				crash.duringClaim(t, f.namespace)
			}
			waitForWorkers(t, crash.process)
			close(crash.created)
			f.create(t)
			<-crash.process.Exited()

			left := f.writer(t)
			require.Equal(t, test.hasFinalizer, len(left.Finalizers) == 1)
			require.Equal(t, test.hasClaim, left.Status.Claimed != nil)
			eventually(t, func(context.Context) error {
				return expect(d.sessions(t) == 0, "the database has not noticed the end")
			})
			require.Equal(t, test.hasRow, len(d.keys(t, "students")) == 1)
			if !test.hasClaim {
				d.insert(t, "students", f.key(), berta)
				process := start(t, d, "--watch-namespace", f.namespace)
				f.operator = process
				f.waitForReason(t, "RowExists")
				require.Equal(t, berta, d.rows(t, "students")[f.key()])
				f.delete(t)
				f.waitUntilGone(t)
				require.Equal(t, berta, d.rows(t, "students")[f.key()])
				d.exec(t, "delete from students")
				f.create(t)
				f.settle(t)
				return
			}
			f.operator = start(t, d, "--watch-namespace", f.namespace)
			f.settle(t)
			f.delete(t)
			f.waitUntilGone(t)
			require.Empty(t, d.keys(t, "students"))
		})
	}
}

// commit is the message that ends a transaction with a write.
const commit = "Q\x00\x00\x00\x0bcommit\x00"

// A crash kills an operator once.
type crash struct {
	process *operator.Process
	message string
	n       int
	// isLate delays the end until the database has carried out the message; nil if the database does not receive it.
	isLate  func() bool
	created chan struct{} // closed once a message counts
	mu      sync.Mutex
	seen    int
}

// sending counts the messages of an operator to the database, and kills the operator at the n-th.
func (c *crash) sending(message string) bool {
	select {
	case <-c.created:
	default:
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.message == "" || !strings.Contains(message, c.message) {
		return true
	}
	c.seen++
	switch {
	case c.seen != c.n:
		return true
	case c.isLate == nil:
		_ = c.process.Kill()
		return false
	}
	go func() {
		for !c.isLate() {
			runtime.Gosched()
		}
		_ = c.process.Kill()
	}()
	return true
}

// duringClaim kills the operator when it writes the claim, and refuses the claim.
func (c *crash) duringClaim(t *testing.T, namespace string) {
	t.Helper()
	stop, err := shared.MutatingWebhook(t.Context(), namespace, []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{v1.GroupVersion.Group}, APIVersions: []string{"v1"}, Resources: []string{"postgreswriters/status"},
		},
	}}, admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		select {
		case <-c.process.Exited():
			return admission.Allowed("")
		default:
		}
		if request.Namespace != namespace {
			return admission.Allowed("")
		}
		_ = c.process.Kill()
		return admission.Denied("the operator is dead")
	}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
}
