package application_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/templates"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// TestRights shows that the operator's roles grant only needed rights. Most verbs are seen in its
// requests. Verbs that other verbs require (creating by patch, restoring an owner) are removed one
// by one: each removal must cause a failure.
func TestRights(t *testing.T) {
	o := installed(t)
	tests.DropLease(t, lease)
	mark := shared.Mark()
	lists := o
	lists.Env = []string{"KUBE_FEATURE_WatchListClient=false"} // as with a server that does not stream its lists
	require.NoError(t, startWith(t, lists).Stop())
	dir := suite.NewFolder(t, templates.Files)
	process := startWith(t, o, "--leader-elect", "--leader-election-namespace", o.Namespace, "--templates", dir.Path)
	f := newFixture(t, process)
	dir.Write(t, "oops.yaml", "") // there is an event about it
	f.waitForReason(t, "InvalidTemplate")
	dir.Remove(t, "oops.yaml")
	f.settle(t)
	old := f.service(t)
	dir.Override(t, "service.yaml", `{{template "service" .}}`, "{{.Name}}-front") // the old one is pruned
	tests.WaitUntilGone(t, client.ObjectKeyFromObject(old), old)
	dir.Remove(t, "service.yaml")
	tests.WaitUntilGone(t, client.ObjectKey{Namespace: f.namespace, Name: "shop-front"}, old)
	f.settle(t)
	for kind, child := range f.children(t) {
		f.patch(t, child, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
		eventually(t, func(context.Context) error {
			return expect(f.children(t)[kind].GetLabels()["app.kubernetes.io/managed-by"] != "", "%s: no label", kind)
		})
	}

	unseen := []suite.Right{
		{Verb: "create", Resource: "secrets"},
		{Verb: "delete", Resource: "secrets"},
		{Verb: "create", Group: "apps", Resource: "deployments"},
		{Verb: "delete", Group: "apps", Resource: "deployments"},
		{Verb: "create", Resource: "services"},
		{Verb: "delete", Resource: "services"},
		{Verb: "update", Group: "application.sample.ibm.com", Resource: "applications/finalizers"},
	}
	role := tests.OnlyUsed(t, mark, unseen...)
	for i, right := range unseen {
		t.Run("without "+right.String(), func(t *testing.T) {
			if i > 0 {
				longform.Only(t)
			}
			testWithout(t, f, role, right)
		})
	}
}

// testWithout removes a right, observes the failure, and restores the right.
func testWithout(t *testing.T, f fixture, role *rbacv1.ClusterRole, right suite.Right) {
	giveBack := tests.Without(t, role, right, f.namespace)
	child := map[string]client.Object{
		"secrets": f.secret(t), "deployments": f.deployment(t), "services": f.service(t), "applications/finalizers": f.service(t),
	}[right.Resource]
	if right.Verb == "delete" {
		f.patch(t, child, `{"metadata":{"ownerReferences":null}}`)
	} else {
		require.NoError(t, admin(t).Delete(t.Context(), child))
	}
	f.waitForReason(t, "Forbidden")
	giveBack()
	f.reconcile(t)
	f.settle(t)
}
