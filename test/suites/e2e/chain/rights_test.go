package chain_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/suites/e2e/suite"
)

// TestRights shows that the roles of the operator of Sites grant only needed rights. Verbs that other
// verbs require are removed one by one: each removal must cause a failure.
func TestRights(t *testing.T) {
	require.NoError(t, define())
	o, mark := sites.Installed(t), shared.Mark()
	sites.DropLease(t, "site-operator.web.example.com")
	lists := o
	lists.Env = []string{"KUBE_FEATURE_WatchListClient=false"} // as with a server that does not stream its lists
	require.NoError(t, sites.StartWith(t, lists).Stop())
	f := newFixture(t, sites.Start(t), start(t, apps))
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)
	children := []client.Object{
		&corev1.ConfigMap{ObjectMeta: f.meta("shop")}, f.named(), &networkingv1.Ingress{ObjectMeta: f.meta("shop")},
	}
	for _, child := range children {
		merge(t, child, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`) // and out of the cache
	}
	f.settle(t)
	f.change(t, `{"plain":true}`)
	f.waitFor(t, "Plain", "")
	f.change(t, `{"plain":false}`)
	f.settle(t)

	unseen := map[suite.Right]client.Object{ // and a child that cannot be created without the right
		{Verb: "create", Resource: "configmaps"}:                                   children[0],
		{Verb: "create", Group: "apps.linuxera.org", Resource: "reversewordsapps"}: children[1],
		{Verb: "create", Group: "networking.k8s.io", Resource: "ingresses"}:        children[2],
		{Verb: "update", Group: "web.example.com", Resource: "sites/finalizers"}:   children[2],
	}
	role := sites.OnlyUsed(t, mark, slices.Collect(maps.Keys(unseen))...)
	for right, child := range unseen {
		t.Run("without "+right.String(), func(t *testing.T) {
			if right.Verb == "create" {
				longform.Only(t)
			}
			giveBack := sites.Without(t, role, right, f.namespace)
			require.NoError(t, admin(t).Delete(t.Context(), child))
			f.waitFor(t, "Forbidden", "")
			giveBack()
			f.reconcileSite(t)
			f.settle(t)
		})
	}
}
