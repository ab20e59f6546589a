package explain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// newSite creates the Deployment of an operator with trueup, scaled by an edit.
func newSite(t *testing.T, namespace string) {
	t.Helper()
	operator, site := clientOf(t, "website-operator"), owner(t, namespace)
	desired := deployment(t, namespace)
	desired.Annotations = map[string]string{"note": "old"}
	_, err := ensure.Object(t.Context(), ensure.New(operator, operator, "website-operator"), desired, ensure.ControlledBy(site))
	require.NoError(t, err)
	kubectl(t, namespace, "", "patch", "deployment", "web", "-p", `{"spec":{"replicas":7}}`)
	kubectl(t, namespace, "", "rollout", "status", "deployment", "web")
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	newSite(t, namespace)
	mark := shared.Mark()

	file := write(t, strings.Replace(manifest, "web:1", "web:2", 1))
	report := explain(t, namespace, "-f", file, "--field-manager=website-operator")

	requireRequests(t, mark, namespace, map[string]int{"get deployments": 1, "patch deployments (dry run)": 1})
	requireParts(t, report, namespace, `
    removed  metadata.annotations.note: "old"
    changed  spec.replicas: 7 -> 2
    changed  spec.template.spec.containers[name=web].image: "registry.example.com/web:1" -> "registry.example.com/web:2"
    takes from kubectl-patch Update: spec.replicas

`)
	live := &appsv1.Deployment{}
	require.NoError(t, clientOf(t, "user").Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, live))
	require.Equal(t, int32(7), *live.Spec.Replicas)
	require.Equal(t, "registry.example.com/web:1", live.Spec.Template.Spec.Containers[0].Image)
}

func TestDryRunThatIsRefused(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	newSite(t, namespace)
	file := write(t, strings.ReplaceAll(manifest, "{app: web}", "{app: shop}"))
	report := explain(t, namespace, "deployment/web", "-f", file, "--field-manager=website-operator")
	requireParts(t, report, namespace, "Dry run of an apply by website-operator\n    refused  spec.selector: ", "    refused  spec.selector\n")
	require.Contains(t, report, "field is immutable\n")
}

func TestDryRunThatCreates(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	report := explain(t, namespace, "-f", write(t, manifest), "--field-manager=website-operator")
	require.Equal(t, "Deployment NAMESPACE/web (apps/v1) does not exist\n\nDry run of an apply by website-operator\n    creates the object\n",
		normalized(report, namespace))
}
