package bookstore_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/storage"
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
	f := useAllRights(t, lists)

	unseen := []suite.Right{
		{Verb: "create", Group: "apps", Resource: "deployments"},
		{Verb: "delete", Group: "apps", Resource: "deployments"},
		{Verb: "create", Group: "apps", Resource: "statefulsets"},
		{Verb: "create", Resource: "services"},
		{Verb: "delete", Resource: "services"},
		{Verb: "update", Group: "blog.velotio.com", Resource: "bookstores/finalizers"},
	}
	// A claim or a Service is read from the server if another one replaces it between a read and a write.
	raced := []suite.Right{{Verb: "get", Resource: "persistentvolumeclaims"}, {Verb: "get", Resource: "services"}}
	role := tests.OnlyUsed(t, mark, slices.Concat(unseen, raced)...)
	for _, right := range unseen {
		t.Run("without "+right.String(), func(t *testing.T) {
			longform.Only(t)
			testWithout(t, f, role, right)
		})
	}
}

// useAllRights has the operator use all its rights, and returns a settled fixture.
func useAllRights(t *testing.T, lists operator.Operator) fixture {
	t.Helper()
	require.NoError(t, startWith(t, lists, "--leader-elect", "--leader-election-namespace", lists.Namespace).Stop())
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	d := newTemplateDir(t)
	process := startWith(t, lists,
		"--restart-after=1s", "--leader-elect", "--leader-election-namespace", lists.Namespace, "--templates", d.Path)
	gone := newFixture(t, process, noRetain, func(store *v1alpha1.BookStore) { store.Spec.BookDB.RestartForResize = true })
	d.breakDatabase(t) // there is an event about it
	gone.waitForReason(t, v1alpha1.ReadyCondition, "InvalidTemplate")
	d.Remove(t, databaseFile)
	gone.settle(t)
	d.Override(t, "app-service.yaml", `name: {{template "app" .}}`, "name: {{.Name}}-front") // the old one is pruned
	gone.waitUntilGone(t, "shop-app", &corev1.Service{})
	d.Remove(t, "app-service.yaml")
	gone.waitUntilGone(t, "shop-front", &corev1.Service{})
	gone.settle(t)
	for _, child := range gone.children(t) {
		gone.patch(t, child, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
		eventually(t, func(context.Context) error {
			require.NoError(t, admin(t).Get(t.Context(), client.ObjectKeyFromObject(child), child))
			return expect(child.GetLabels()["app.kubernetes.io/managed-by"] != "", "%T: no label", child)
		})
	}
	gone.settle(t)
	gone.grow(t, "3Gi")
	gone.waitForDone(t)
	gone.delete(t)
	gone.waitUntilGone(t, gone.name, gone.named())
	return newFixture(t, process)
}

// testWithout removes a right, observes the failure, and restores the right.
func testWithout(t *testing.T, f fixture, role *rbacv1.ClusterRole, right suite.Right) {
	giveBack := tests.Without(t, role, right, f.namespace)
	child := map[string]client.Object{
		"deployments":           &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shop-app"}},
		"statefulsets":          &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "shop-mongodb"}},
		"services":              &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop-app"}},
		"bookstores/finalizers": &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop-app"}},
	}[right.Resource]
	child.SetNamespace(f.namespace)
	if right.Verb == "delete" {
		f.patch(t, child, `{"metadata":{"ownerReferences":null}}`)
	} else {
		require.NoError(t, admin(t).Delete(t.Context(), child))
	}
	f.waitForReason(t, v1alpha1.ReadyCondition, "Forbidden")
	giveBack()
	f.reconcile(t)
	f.settle(t)
}
