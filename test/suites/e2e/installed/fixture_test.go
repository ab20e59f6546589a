package installed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/port"
)

// A fixture is a built operator, and two namespaces.
type fixture struct {
	example
	*operator.Operator
	// watched is the namespace of the variant for one namespace; other is not.
	watched, other string
}

func newFixture(t *testing.T, e example) *fixture {
	t.Helper()
	require.NoError(t, define())
	built, err := operator.Build(t.Context(), shared, e.name)
	require.NoError(t, err)
	return &fixture{example: e, Operator: built, watched: shared.Namespace(t), other: shared.Namespace(t)}
}

// An installer is an install.yaml.
type installer struct {
	path    string
	objects []unstructured.Unstructured
}

// build runs `make build-installer` for the namespace, or for all, in a copy of the operator's folder. The
// components are uncommented there.
func (f *fixture) build(t *testing.T, namespace string, components ...string) installer {
	t.Helper()
	var edits []string
	for _, line := range components {
		edits = append(edits, "\n#- ../components/"+line+"\n", "\n- ../components/"+line+"\n")
	}
	if len(components) > 0 {
		edits = append(edits, "\n#components:\n", "\ncomponents:\n")
	}
	return f.buildEdited(t, namespace, edits...)
}

// buildEdited is build with texts of config/default/kustomization.yaml replaced by others.
func (f *fixture) buildEdited(t *testing.T, namespace string, oldnew ...string) installer {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(f.Dir)))
	file := filepath.Join(dir, "config", "default", "kustomization.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	edited := string(text)
	for edit := range slices.Chunk(oldnew, 2) {
		require.Contains(t, edited, edit[0])
		edited = strings.Replace(edited, edit[0], edit[1], 1)
	}
	require.NoError(t, os.WriteFile(file, []byte(edited), 0o600))
	path, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), "make", "build-installer", "KUBECTL="+path, "WATCH_NAMESPACE="+namespace, "IMG=example.org/operator:v1")
	command.Dir = dir
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return read(t, filepath.Join(dir, "dist", "install.yaml"))
}

func read(t *testing.T, path string) installer {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return installer{path: path, objects: parse(t, text)}
}

// parse returns the objects of a manifest.
func parse(t *testing.T, text []byte) []unstructured.Unstructured {
	t.Helper()
	var objects []unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var u unstructured.Unstructured
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		require.NoError(t, err)
		objects = append(objects, u)
	}
}

// named returns the names of the objects of a kind.
func (i installer) named(kind string) []string {
	names := []string{}
	for _, object := range i.objects {
		if object.GetKind() == kind {
			names = append(names, object.GetName())
		}
	}
	return names
}

// in returns the objects in a namespace.
func (i installer) in(namespace string) installer {
	i.objects = slices.DeleteFunc(slices.Clone(i.objects), func(object unstructured.Unstructured) bool {
		return object.GetNamespace() != namespace
	})
	return i
}

// find reads the object of a kind whose name has this end into obj, which has the Go type of the kind.
func find[T any](t *testing.T, i installer, kind, suffix string) *T {
	t.Helper()
	for _, object := range i.objects {
		if object.GetKind() == kind && strings.HasSuffix(object.GetName(), suffix) {
			found := new(T)
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, found))
			return found
		}
	}
	require.FailNow(t, "not found", "%s %s", kind, suffix)
	return nil
}

// install applies an installer, and gives the operator a token of the ServiceAccount.
func (f *fixture) install(t *testing.T, i installer) {
	t.Helper()
	kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", i.path) // the operator enters its port into the CRD
	manager := i.manager(t)
	if f.webhook != "" {
		require.NoError(t, shared.LeadHere(t.Context(), manager.Namespace, f.webhook))
	}
	require.NoError(t, f.As(t.Context(), shared, manager.Namespace, manager.Spec.Template.Spec.ServiceAccountName))
}

func (i installer) manager(t *testing.T) *appsv1.Deployment {
	t.Helper()
	return find[appsv1.Deployment](t, i, "Deployment", "controller-manager")
}

// prefix begins the names of all objects of an operator.
func (f *fixture) prefix() string { return strings.TrimSuffix(f.Namespace, "system") }

// args returns the arguments of the installed Deployment, and those that a process outside the cluster
// needs: the metrics are at the address.
func (f *fixture) args(t *testing.T, i installer, metrics string, more ...string) []string {
	t.Helper()
	args := i.manager(t).Spec.Template.Spec.Containers[0].Args
	require.Contains(t, args, "--leader-elect")
	args = slices.Concat(args, []string{"--leader-election-namespace=" + f.Namespace, "--metrics-bind-address=" + metrics}, more)
	if f.webhook != "" {
		args = append(args, "--webhook-bind-address=127.0.0.1:0")
	}
	isTemplates := func(arg string) bool { return strings.HasPrefix(arg, "--templates=") }
	if slices.ContainsFunc(args, isTemplates) { // nothing mounts the ConfigMap here
		args = append(args, "--templates-optional")
	}
	return args
}

// start runs the installed operator until the test ends, and returns the address of its metrics.
func (f *fixture) start(t *testing.T, i installer) (metrics string) {
	t.Helper()
	if f.needs != "" {
		needed := newFixture(t, example{name: f.needs})
		all := needed.build(t, "")
		needed.install(t, all)
		needed.start(t, all)
	}
	reserved, err := port.Reserve(port.ReuseAddress)
	require.NoError(t, err)
	t.Cleanup(reserved.Release)
	process, err := f.Start(t.Context(), f.args(t, i, reserved.Address())...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, process.Stop()) })
	return reserved.Address()
}

// run starts an operator that may fail, until the test ends.
func (f *fixture) run(t *testing.T, args ...string) *operator.Process {
	t.Helper()
	process, err := f.Run(args...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = process.Stop() })
	return process
}

// samples returns a manifest with the samples, of a namespace.
func (f *fixture) samples(t *testing.T, namespace string) string {
	t.Helper()
	objects := parse(t, []byte(kubectl(t, "kustomize", filepath.Join(f.Dir, "config", "samples"))))
	require.NotEmpty(t, objects)
	var list []any
	for _, object := range objects {
		object.SetNamespace(namespace)
		list = append(list, object.Object)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "samples.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// waitForReady waits until all objects of the example in the namespace are ready.
func (f *fixture) waitForReady(t *testing.T, namespace string) {
	t.Helper()
	kubectl(t, "-n", namespace, "wait", "--for=condition=Ready", f.resource, "--all", "--timeout="+limit.String())
}

// delete deletes all objects of the example in a namespace and waits for the operator's finalizer. If the
// children have a finalizer of another operator, which must still run, delete also waits for that.
func (f *fixture) delete(t *testing.T, namespace string) {
	t.Helper()
	cascade := "background"
	if f.needs != "" {
		cascade = "foreground"
	}
	kubectl(t, "-n", namespace, "delete", f.resource, "--all", "--cascade="+cascade, "--timeout="+limit.String())
}

// crd returns the name of the CRD.
func (f *fixture) crd() string { return strings.Replace(f.resource, ".v1alpha1.", ".", 1) }

// kubectl runs kubectl as an admin and returns the output.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tryKubectl(t.Context(), args...)
	require.NoError(t, err)
	return out
}

// tryKubectl is kubectl that may fail.
func tryKubectl(ctx context.Context, args ...string) (string, error) {
	path, err := cluster.Kubectl(ctx)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, append([]string{"--kubeconfig", shared.Kubeconfig()}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// eventually calls try until try returns nil.
func eventually(t *testing.T, try func(context.Context) error) {
	t.Helper()
	require.NoError(t, shared.Await(t.Context(), limit, "", try))
}

// rights calls check with each verb and resource that rules grant.
func rights(rules []rbacv1.PolicyRule, check func(verb, group, resource string)) {
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				check(verb, rule.APIGroups[0], resource)
			}
		}
	}
}
