package installed_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestElsewhere changes only namespace and namePrefix in config/default/kustomization.yaml.
func TestElsewhere(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			f := newFixture(t, e)
			old := f.build(t, "").manager(t).Namespace
			for _, watched := range []string{"", f.watched} {
				moved := f.buildEdited(t, watched, "namespace: "+old, "namespace: elsewhere")
				for _, object := range moved.objects {
					text, err := object.MarshalJSON()
					require.NoError(t, err)
					require.NotContains(t, string(text), old, "%s %s", object.GetKind(), object.GetName())
				}
			}
		})
	}
}

// TestWebhookElsewhere installs an operator whose CRD and arguments name its Service, and reads the version that needs
// a conversion.
func TestWebhookElsewhere(t *testing.T) {
	f := newFixture(t, application)
	f.webhook = "mine-webhook-service"
	kubectl(t, "apply", "-f", f.samples(t, f.watched))
	for name, watched := range map[string]string{"for all namespaces": "", "for one namespace": f.watched} {
		t.Run(name, func(t *testing.T) {
			moved := f.buildEdited(t, watched, "namespace: operator-application-system\n", "namespace: elsewhere\n",
				"namePrefix: operator-application-\n", "namePrefix: mine-\n")
			t.Cleanup(func() { moved.removeRoles(t) })
			f.install(t, moved)
			require.Equal(t, "elsewhere", f.Namespace)
			f.start(t, moved)
			f.waitForReady(t, f.watched)
			kubectl(t, "-n", f.watched, "get", "applications.v1beta1.application.sample.ibm.com", f.sample)
		})
	}
}

// removeRoles removes what the cluster has in no namespace, but for the CRD and the namespace.
func (i installer) removeRoles(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		for _, name := range i.named(kind) {
			_, err := tryKubectl(context.Background(), "delete", kind, name)
			require.NoError(t, err)
		}
	}
}
