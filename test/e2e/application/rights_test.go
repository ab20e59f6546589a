package application_test

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

// TestRights shows that the operator's roles hold nothing that it does not need.
// Most verbs are seen in its requests. Those that other verbs need beside them
// (creating by patch, putting an owner back) are taken away one by one: it has to
// hurt.
func TestRights(t *testing.T) {
	o := installed(t)
	require.NoError(t, client.IgnoreNotFound(human(t).Delete(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: lease},
	})), "so that it has to be created")
	mark := shared.Mark()
	lists := o
	lists.Env = []string{"KUBE_FEATURE_WatchListClient=false"} // as with a server that does not stream its lists
	require.NoError(t, startWith(t, lists).Stop())
	process := start(t)
	s := newScene(t, process)
	for kind, child := range s.children(t) {
		s.patch(t, child, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
		eventually(t, func(context.Context) error {
			return expect(s.children(t)[kind].GetLabels()["app.kubernetes.io/managed-by"] != "", "%s: no label", kind)
		})
	}

	role := &rbacv1.ClusterRole{}
	require.NoError(t, human(t).Get(t.Context(), client.ObjectKey{Name: "operator-application-manager-role"}, role))
	leading := &rbacv1.Role{}
	require.NoError(t, human(t).Get(t.Context(),
		client.ObjectKey{Namespace: o.Namespace, Name: "operator-application-leader-election-role"}, leading))
	given := suite.Rights(slices.Concat(role.Rules, leading.Rules))
	unseen := map[string]suite.Right{}
	for _, right := range []suite.Right{
		{Verb: "create", Resource: "secrets"},
		{Verb: "delete", Resource: "secrets"},
		{Verb: "create", Group: "apps", Resource: "deployments"},
		{Verb: "delete", Group: "apps", Resource: "deployments"},
		{Verb: "create", Resource: "services"},
		{Verb: "delete", Resource: "services"},
		{Verb: "update", Group: "application.sample.ibm.com", Resource: "applications/finalizers"},
	} {
		unseen[right.String()] = right
	}

	eventually(t, func(context.Context) error {
		unused := given.Difference(tests.UsedRights(t, mark)).Difference(sets.KeySet(unseen))
		return expect(unused.Len() == 0, "never used: %v", sets.List(unused))
	})
	for name, right := range unseen {
		t.Run("without "+name, func(t *testing.T) { testWithout(t, s, role, right) })
	}
}

// testWithout takes a right away, sees that it hurts, and gives it back.
func testWithout(t *testing.T, s scene, role *rbacv1.ClusterRole, right suite.Right) {
	giveBack := tests.Without(t, role, right, s.namespace)
	child := map[string]client.Object{
		"secrets": s.secret(t), "deployments": s.deployment(t), "services": s.service(t), "applications/finalizers": s.service(t),
	}[right.Resource]
	if right.Verb == "delete" {
		s.patch(t, child, `{"metadata":{"ownerReferences":null}}`)
	} else {
		require.NoError(t, human(t).Delete(t.Context(), child))
	}
	s.waitForReason(t, "Forbidden")
	giveBack()
	s.reconcile(t)
	s.settle(t)
}
