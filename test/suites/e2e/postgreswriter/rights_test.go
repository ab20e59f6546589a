package postgreswriter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// TestRights shows that the operator's roles grant only needed rights: each verb is seen in its
// requests.
func TestRights(t *testing.T) {
	o := installed(t)
	tests.DropLease(t, lease)
	d := newDatabase(t, server, "students")
	o.Env = append(d.env(), "KUBE_FEATURE_WatchListClient=false") // as with a server that does not stream its lists
	mark := shared.Mark()
	process := tests.StartWith(t, o, "--leader-elect", "--leader-election-namespace", o.Namespace, "--check-interval=1s")
	gone := newFixture(t, d, process)
	gone.delete(t)
	gone.waitUntilGone(t)
	f := newFixture(t, d, process)
	for range 2 { // the second time is the same event again
		d.exec(t, "delete from students where id = $1", f.key())
		f.waitForRow(t, "students", &alex)
	}
	role := tests.OnlyUsed(t, mark)

	t.Run("without the right to write finalizers", func(t *testing.T) {
		giveBack := tests.Without(t, role, suite.Right{Verb: "patch", Group: "demo.yash.com", Resource: "postgreswriters"}, f.namespace)
		other := f.withName("berta")
		other.create(t)
		other.waitForReason(t, "Forbidden")
		require.NotContains(t, d.rows(t, "students"), other.key(), "no row without a finalizer")
		giveBack()
		other.reconcile(t)
		other.settle(t)
	})
	t.Run("without the right to write status", func(t *testing.T) {
		giveBack := tests.Without(t, role, suite.Right{Verb: "patch", Group: "demo.yash.com", Resource: "postgreswriters/status"}, f.namespace)
		f.change(t, `{"age":24}`)
		f.waitForRow(t, "students", &row{Name: alex.Name, Age: 24, Country: alex.Country})
		giveBack()
		f.reconcile(t)
		f.settle(t)
	})
}
