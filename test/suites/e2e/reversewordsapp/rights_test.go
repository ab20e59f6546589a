package reversewordsapp_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// TestRights shows that the operator's roles grant only needed rights. Most verbs are seen in its
// requests. Verbs that other verbs require (creating by patch, an owner that blocks) are removed
// one by one: each removal must cause a failure.
func TestRights(t *testing.T) {
	o := installed(t)
	tests.DropLease(t, lease)
	mark := shared.Mark()
	lists := o
	lists.Env = []string{"KUBE_FEATURE_WatchListClient=false"} // as with a server that does not stream its lists
	require.NoError(t, startWith(t, lists).Stop())
	d := newTemplateDir(t)
	process := startWith(t, o, "--leader-elect", "--leader-election-namespace", o.Namespace, "--templates", d.Path)
	gone := newFixture(t, process)
	d.breakDeployment(t)
	gone.waitForReason(t, "InvalidTemplate")
	d.Remove(t, "deployment.yaml")
	d.Override(t, "service.yaml", `{{template "service" .}}`, "{{.Name}}-front") // the old one is pruned
	gone.waitUntilGone(t, "service-shop", &corev1.Service{})
	d.Remove(t, "service.yaml")
	gone.waitUntilGone(t, "shop-front", &corev1.Service{})
	gone.settle(t)
	for _, child := range gone.children(t) {
		gone.patch(t, child, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
	}
	eventually(t, func(context.Context) error {
		for kind, child := range gone.children(t) {
			if child.GetLabels()["app.kubernetes.io/managed-by"] == "" {
				return expect(false, "%s has no label", kind)
			}
		}
		return nil
	})
	gone.settle(t)
	gone.delete(t)
	gone.waitUntilGone(t, gone.name, gone.named())
	f := newFixture(t, process)

	unseen := []suite.Right{
		{Verb: "create", Group: "apps", Resource: "deployments"},
		{Verb: "create", Resource: "services"},
		{Verb: "update", Group: "apps.linuxera.org", Resource: "reversewordsapps/finalizers"},
	}
	role := tests.OnlyUsed(t, mark, unseen...)

	for i, right := range unseen {
		t.Run("without "+right.String(), func(t *testing.T) {
			if i > 0 {
				longform.Only(t)
			}
			giveBack := tests.Without(t, role, right, f.namespace)
			child := map[string]client.Object{
				"deployments": f.deployment(t), "services": f.service(t), "reversewordsapps/finalizers": f.service(t),
			}[right.Resource]
			require.NoError(t, admin(t).Delete(t.Context(), child))
			f.waitForReason(t, "Forbidden")
			giveBack()
			f.reconcile(t)
			f.settle(t)
		})
	}
	t.Run("without the right to delete", func(t *testing.T) {
		giveBack := tests.Without(t, role, suite.Right{Verb: "delete", Resource: "services"}, f.namespace)
		f.delete(t)
		require.Contains(t, f.waitForReason(t, "Forbidden").Message, v1alpha1.Finalizer, "a cleanup that fails is a condition")
		f.waitUntilGone(t, "dp-shop", &appsv1.Deployment{})
		eventually(t, func(context.Context) error { // else what it hears of that is another reason to try again
			children := f.app(t).Status.Children
			return expect(len(children) == 1 && children[0].Kind == "Service", "%v", children)
		})
		giveBack()
		f.patch(t, f.named(), `{"metadata":{"annotations":{"helped":"yes"}}}`)
		f.waitUntilGone(t, f.name, f.named())
	})
	t.Run("without the right to write finalizers", func(t *testing.T) {
		giveBack := tests.Without(t, role, suite.Right{Verb: "patch", Group: "apps.linuxera.org", Resource: "reversewordsapps"}, f.namespace)
		f.create(t)
		f.waitForReason(t, "Forbidden")
		f.isAbsent(t, "dp-shop", &appsv1.Deployment{})
		giveBack()
		f.reconcile(t)
		f.settle(t)
	})
}
