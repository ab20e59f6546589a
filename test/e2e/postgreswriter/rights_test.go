package postgreswriter_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/e2e/suite"
)

// TestRights shows that the operator's roles hold what it needs, and nothing else: each
// verb is seen in its requests.
func TestRights(t *testing.T) {
	o := installed(t)
	require.NoError(t, client.IgnoreNotFound(human(t).Delete(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: lease},
	})), "so that it has to be created")
	d := newDatabase(t, server, "students")
	o.Env = append(d.env(), "KUBE_FEATURE_WatchListClient=false") // as with a server that does not stream its lists
	mark := shared.Mark()
	process := tests.StartWith(t, o, "--leader-elect", "--leader-election-namespace", o.Namespace)
	gone := newScene(t, d, process)
	gone.delete(t)
	gone.waitUntilGone(t)
	s := newScene(t, d, process)

	role := &rbacv1.ClusterRole{}
	require.NoError(t, human(t).Get(t.Context(), client.ObjectKey{Name: "postgreswriter-operator-manager-role"}, role))
	leading := &rbacv1.Role{}
	require.NoError(t, human(t).Get(t.Context(),
		client.ObjectKey{Namespace: o.Namespace, Name: "postgreswriter-operator-leader-election-role"}, leading))
	given := suite.Rights(slices.Concat(role.Rules, leading.Rules))
	eventually(t, func(context.Context) error {
		unused := given.Difference(tests.UsedRights(t, mark))
		return expect(unused.Len() == 0, "never used: %v", sets.List(unused))
	})

	t.Run("without the right to write finalizers", func(t *testing.T) {
		giveBack := tests.Without(t, role, suite.Right{Verb: "patch", Group: "demo.yash.com", Resource: "postgreswriters"}, s.namespace)
		other := s.called("berta")
		other.create(t)
		other.waitForReason(t, "Forbidden")
		require.NotContains(t, d.rows(t, "students"), other.key(), "no row without a finalizer")
		giveBack()
		other.reconcile(t)
		other.settle(t)
	})
	t.Run("without the right to write status", func(t *testing.T) {
		giveBack := tests.Without(t, role, suite.Right{Verb: "patch", Group: "demo.yash.com", Resource: "postgreswriters/status"}, s.namespace)
		s.change(t, `{"age":24}`)
		s.waitForRow(t, "students", &row{Name: alex.Name, Age: 24, Country: alex.Country})
		giveBack()
		s.reconcile(t)
		s.settle(t)
	})
}
