package application_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// TestDeleteWithoutOperator deletes Applications in the stored version while no operator runs, by the lines of
// docs/upgrade.md.
func TestDeleteWithoutOperator(t *testing.T) {
	process := start(t)
	f := newFixture(t, process)
	held := f
	held.name = "held"
	// Its managed fields have the version that needs a conversion.
	kubectl(t, "apply", "--server-side", "-n", f.namespace, "-f", file(t, `
apiVersion: application.sample.ibm.com/v1beta1
kind: Application
metadata: {name: held, finalizers: [example.org/hold]}
`))
	held.settle(t)
	children := []map[string]client.Object{f.children(t), held.children(t)}
	require.NoError(t, process.Stop())

	output, err := tryKubectl(t, "delete", "application", f.name, "-n", f.namespace)
	require.Error(t, err)
	require.Contains(t, output, "conversion webhook for application.sample.ibm.com/v1alpha1, Kind=Application failed")
	documented(t, f, "kubectl delete applications.v1alpha1.application.sample.ibm.com application1")
	tests.CheckAbsent(t, client.ObjectKeyFromObject(f.named()), &v1alpha1.Application{})
	kubectl(t, "delete", "applications.v1alpha1.application.sample.ibm.com", "--all", "-n", f.namespace, "--wait=false")
	documented(t, held,
		`kubectl patch applications.v1alpha1.application.sample.ibm.com application1 --type=merge -p '{"metadata":{"finalizers":null}}'`)
	tests.CheckAbsent(t, client.ObjectKeyFromObject(held.named()), &v1alpha1.Application{})

	start(t)
	for _, each := range children {
		waitUntilGone(t, each)
	}
}

// TestNamespaceWithoutOperator deletes a namespace while no operator runs. It stays until the version that needs a
// conversion is no longer served.
func TestNamespaceWithoutOperator(t *testing.T) {
	process := start(t)
	deleted, other := newFixture(t, process), newFixture(t, process)
	second := other
	second.name = "second"
	second.create(t)
	second.settle(t)
	require.NoError(t, process.Stop())
	t.Cleanup(func() { require.NoError(t, serve(context.Background(), t)) })

	kubectl(t, "delete", "namespace", deleted.namespace, "--wait=false")
	eventually(t, func(ctx context.Context) error {
		var namespace corev1.Namespace
		err := admin(t).Get(ctx, client.ObjectKey{Name: deleted.namespace}, &namespace)
		for _, condition := range namespace.Status.Conditions {
			if condition.Type == corev1.NamespaceDeletionContentFailure && condition.Status == corev1.ConditionTrue {
				require.Contains(t, condition.Message, "conversion webhook")
				return nil
			}
		}
		return expect(false, "the namespace does not say why it stays: %v", err)
	})

	documented(t, other, `kubectl patch crd applications.application.sample.ibm.com --type=json `+
		`-p '[{"op":"test","path":"/spec/versions/1/name","value":"v1beta1"},{"op":"replace","path":"/spec/versions/1/served","value":false}]'`)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deleted.namespace}}
	tests.WaitUntilGone(t, client.ObjectKeyFromObject(namespace), namespace)
	children, pods, orphans := other.children(t), other.pods(t), second.children(t)
	documented(t, second, "kubectl delete applications.v1alpha1.application.sample.ibm.com application1")
	documented(t, second, "kubectl delete deployments,services,secrets "+
		"-l app.kubernetes.io/managed-by=application-operator,app.kubernetes.io/instance=application1")
	waitUntilGone(t, orphans)

	kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(installed(t).Dir, "config", "crd"))
	other.operator = start(t)
	other.settle(t)
	eventually(t, other.bothRead)
	require.Equal(t, int32(2), *other.beta(t).Spec.Replicas, "nothing is lost")
	require.Equal(t, children, other.children(t))
	require.Equal(t, pods, other.pods(t))
	waitForCollector(t, other)
}

// serve has the API server serve both versions.
func serve(ctx context.Context, t *testing.T) error {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitionName}}
	return admin(t).Patch(ctx, crd, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/versions/1/served","value":true}]`)))
}

// waitForCollector waits until the garbage collector sees deletions of Applications again.
func waitForCollector(t *testing.T, f fixture) {
	t.Helper()
	tries := 0
	eventually(t, func(ctx context.Context) error {
		tries++
		f.name = fmt.Sprint("try-", tries)
		f.create(t)
		f.settle(t)
		secret := f.secret(t)
		require.NoError(t, admin(t).Delete(ctx, f.named()))
		return shared.Await(ctx, collectorLimit/10, "", func(ctx context.Context) error {
			err := admin(t).Get(ctx, client.ObjectKeyFromObject(secret), secret)
			return expect(apierrors.IsNotFound(err), "not gone: %v", err)
		})
	})
}

// waitUntilGone waits until the children are gone, for the garbage collector if need be.
func waitUntilGone(t *testing.T, children map[string]client.Object) {
	t.Helper()
	for kind, child := range children {
		require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
			err := admin(t).Get(ctx, client.ObjectKeyFromObject(child), child)
			return expect(apierrors.IsNotFound(err), "%s is not gone: %v", kind, err)
		}))
	}
}

// documented runs a line of docs/upgrade.md for the Application of f.
func documented(t *testing.T, f fixture, line string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(installed(t).Dir, "..", "..", "docs", "upgrade.md"))
	require.NoError(t, err)
	require.Contains(t, strings.ReplaceAll(string(page), " \\\n     ", ""), "    "+line+"\n")
	path, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	line = strings.NewReplacer("kubectl ", path+" --namespace "+f.namespace+" ", "application1", f.name).Replace(line)
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Env = append(os.Environ(), "KUBECONFIG="+shared.Kubeconfig())
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", line, output)
}

// tryKubectl is kubectl that may fail.
func tryKubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	args = append([]string{"--kubeconfig", shared.Kubeconfig()}, args...)
	output, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(output), err
}
