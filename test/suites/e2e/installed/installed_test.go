package installed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestInstalled installs each operator twice: for one namespace, and then for all.
func TestInstalled(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			f := newFixture(t, e)
			if e.environment != nil {
				f.Env = e.environment(t)
			}
			for _, namespace := range []string{f.watched, f.other} {
				kubectl(t, "apply", "-f", f.samples(t, namespace))
			}
			t.Run("for one namespace", f.testOneNamespace)
			t.Run("for all namespaces", f.testAllNamespaces)
			t.Run("components", f.testComponents)
		})
	}
}

// testOneNamespace checks that the operator needs only a Role in the watched namespace, and nothing else
// in the cluster but what the example names.
func (f *fixture) testOneNamespace(t *testing.T) {
	one := f.build(t, f.watched)
	f.install(t, one)
	f.start(t, one)
	f.waitForReady(t, f.watched)
	seen := kubectl(t, "-n", f.other, "get", f.resource, "-o", "jsonpath={.items[*].status}{.items[*].metadata.finalizers}")
	require.Empty(t, seen, "the operator has seen the other namespace")

	bound := []string{f.prefix() + "metrics-auth-role"}
	for _, role := range f.remaining {
		bound = append(bound, f.prefix()+role)
	}
	require.ElementsMatch(t, bound, rolesOf(t, one, "ClusterRoleBinding"))
	role := find[rbacv1.Role](t, one.in(f.watched), "Role", "manager-role")
	rights(role.Rules, func(verb, group, resource string) {
		if group == "storage.k8s.io" || group == "apiextensions.k8s.io" {
			return // StorageClasses and CRDs are in no namespace
		}
		require.True(t, f.may(t, f.watched, verb, group, resource), "%s %s in the watched namespace", verb, resource)
		require.False(t, f.may(t, f.other, verb, group, resource), "%s %s in the other namespace", verb, resource)
	})

	t.Run("caches", func(t *testing.T) { f.testCaches(t, one) })
}

// testCaches checks /readyz of an instance that waits for the lease, and of one without rights.
func (f *fixture) testCaches(t *testing.T, one installer) {
	waiting := f.run(t, f.args(t, one, "0")...)
	eventually(t, func(ctx context.Context) error {
		if len(waiting.Entries("Attempting to acquire leader lease...", "attempting to acquire leader lease")) == 0 {
			return errors.New("it does not wait for the lease: " + waiting.Log())
		}
		return answers(ctx, waiting.Probe, "/readyz/caches", http.StatusOK)
	})
	require.NoError(t, answers(t.Context(), waiting.Probe, "/readyz", http.StatusOK))
	readiness := one.manager(t).Spec.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Path
	require.NoError(t, answers(t.Context(), waiting.Probe, readiness, http.StatusOK))
	for _, entry := range waiting.Entries("Starting workers") {
		require.Equal(t, "conversion", entry.Text("controller"), "every instance has a certificate")
	}

	blind := f.run(t, f.args(t, one, "0", "--leader-elect=false", "--watch-namespace="+f.other)...)
	eventually(t, func(ctx context.Context) error {
		if !strings.Contains(blind.Log(), "forbidden") {
			return errors.New("it has not been refused yet: " + blind.Log())
		}
		return answers(ctx, blind.Probe, "/healthz", http.StatusOK)
	})
	require.NoError(t, answers(t.Context(), blind.Probe, "/readyz/caches", http.StatusInternalServerError))
	require.NoError(t, answers(t.Context(), blind.Probe, "/readyz", http.StatusInternalServerError))
	ready := http.StatusInternalServerError
	if f.webhook != "" {
		ready = http.StatusOK // it converts, and the conversion may be what the caches wait for
	}
	require.NoError(t, answers(t.Context(), blind.Probe, readiness, ready))
}

func answers(ctx context.Context, probe func(context.Context, string) (int, error), path string, expected int) error {
	code, err := probe(ctx, path)
	if err == nil && code != expected {
		err = fmt.Errorf("%s answers %d instead of %d", path, code, expected)
	}
	return err
}

// rolesOf returns the roles that the bindings of a kind name.
func rolesOf(t *testing.T, i installer, kind string) []string {
	t.Helper()
	var roles []string
	for _, name := range i.named(kind) {
		roles = append(roles, find[rbacv1.ClusterRoleBinding](t, i, kind, name).RoleRef.Name)
	}
	return roles
}

// may asks the server about the operator's rights in a namespace.
func (f *fixture) may(t *testing.T, namespace, verb, group, resource string) bool {
	t.Helper()
	resource, subresource, _ := strings.Cut(resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: f.User(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
		},
	}}
	clients, err := kubernetes.NewForConfig(shared.Config())
	require.NoError(t, err)
	review, err = clients.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	require.NoError(t, err)
	return review.Status.Allowed
}

// testAllNamespaces checks that one file has all, from the CRD to the image, and that the operator
// reconciles the objects of every namespace.
func (f *fixture) testAllNamespaces(t *testing.T) {
	all := f.build(t, "")
	require.Equal(t, []string{f.crd()}, all.named("CustomResourceDefinition"))
	require.Equal(t, "example.org/operator:v1", all.manager(t).Spec.Template.Spec.Containers[0].Image)
	require.Empty(t, all.named("ServiceMonitor"))
	require.Empty(t, all.named("NetworkPolicy"))
	f.install(t, all)
	require.ElementsMatch(t, []string{f.prefix() + "manager-role", f.prefix() + "metrics-auth-role"}, rolesOf(t, all, "ClusterRoleBinding"))

	address := f.start(t, all)
	f.waitForReady(t, f.other)
	t.Run("metrics", func(t *testing.T) { f.testMetrics(t, address, all) })
	f.delete(t, f.watched)
	f.delete(t, f.other)
}

// testComponents checks the ServiceMonitor, of a kind that the cluster does not have, and the
// NetworkPolicy: both have to select what config/default makes.
func (f *fixture) testComponents(t *testing.T) {
	monitored := f.build(t, "", "prometheus")
	require.Empty(t, monitored.named("NetworkPolicy"))
	monitor := find[unstructured.Unstructured](t, monitored, "ServiceMonitor", "metrics-monitor")
	service := find[corev1.Service](t, monitored, "Service", "metrics-service")
	require.Equal(t, f.prefix()+"controller-manager-metrics-monitor", monitor.GetName())
	require.Equal(t, service.Namespace, monitor.GetNamespace())
	selected, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	require.NoError(t, err)
	require.NotEmpty(t, selected)
	require.Subset(t, service.Labels, selected)
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	require.NoError(t, err)
	require.Len(t, endpoints, 1)
	require.Subset(t, endpoints[0], map[string]any{"port": service.Spec.Ports[0].Name, "scheme": "https", "path": "/metrics"})

	guarded := f.build(t, "", "network-policy")
	require.Empty(t, guarded.named("ServiceMonitor"))
	f.install(t, guarded)
	policy := find[networkingv1.NetworkPolicy](t, guarded, "NetworkPolicy", "allow-metrics-traffic")
	container := guarded.manager(t).Spec.Template
	require.Subset(t, container.Labels, policy.Spec.PodSelector.MatchLabels)
	require.NotEmpty(t, policy.Spec.PodSelector.MatchLabels)
	isOpen := func(port corev1.ContainerPort) bool { return port.Name == policy.Spec.Ingress[0].Ports[0].Port.StrVal }
	require.True(t, slices.ContainsFunc(container.Spec.Containers[0].Ports, isOpen))
	kubectl(t, "-n", f.Namespace, "delete", "networkpolicy", policy.Name)
}

// testEndpoints checks that the Service leads to the port of the metrics.
func (f *fixture) testEndpoints(t *testing.T, all installer) {
	t.Helper()
	require.Contains(t, find[appsv1.Deployment](t, all, "Deployment", "").Spec.Template.Spec.Containers[0].Args, "--metrics-bind-address=:8443")
	service := find[corev1.Service](t, all, "Service", "metrics-service")
	pods := int(*all.manager(t).Spec.Replicas)
	clients, err := kubernetes.NewForConfig(shared.Config())
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error {
		slices, err := clients.DiscoveryV1().EndpointSlices(f.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name,
		})
		if err != nil {
			return err
		}
		for _, slice := range slices.Items {
			for _, port := range slice.Ports {
				if *port.Name == "https" && *port.Port == 8443 && len(slice.Endpoints) == pods {
					return nil
				}
			}
		}
		return fmt.Errorf("no endpoint serves the metrics: %+v", slices.Items)
	})
}

// TestUninstall removes a CRD. While there are objects, `make uninstall` lists them and refuses.
func TestUninstall(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			f := newFixture(t, e)
			path, err := cluster.Kubectl(t.Context())
			require.NoError(t, err)
			uninstall := func(args ...string) (string, error) {
				args = append([]string{"-C", f.Dir, "uninstall", "KUBECTL=" + path}, args...)
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				command := exec.CommandContext(ctx, "make", args...)
				command.WaitDelay = time.Second // kubectl outlives make
				command.Env = append(os.Environ(), "KUBECONFIG="+shared.Kubeconfig())
				out, err := command.CombinedOutput()
				return string(out), err
			}
			t.Cleanup(func() { require.NoError(t, operator.Define(context.Background(), shared, e.name)) })

			kubectl(t, "apply", "-f", f.samples(t, f.watched))
			out, err := uninstall()
			require.Error(t, err)
			require.Contains(t, out, f.watched+"/"+f.sample)
			require.Contains(t, out, "DELETE_OBJECTS=1")
			kubectl(t, "-n", f.watched, "get", f.resource, f.sample)

			blind := filepath.Join(t.TempDir(), "kubectl")
			script := fmt.Sprintf("#!/bin/sh\ntest \"$1\" != get && exec %s \"$@\"\n", path)
			require.NoError(t, os.WriteFile(blind, []byte(script), 0o700)) //nolint:gosec // make runs it
			out, err = uninstall("KUBECTL=" + blind)
			require.Error(t, err, "it cannot see whether there are objects: %s", out)
			kubectl(t, "-n", f.watched, "get", f.resource, f.sample)

			out, err = uninstall("DELETE_OBJECTS=1")
			require.NoError(t, err, out)
			require.NoError(t, operator.Define(t.Context(), shared, e.name))
			out, err = uninstall()
			require.NoError(t, err, out)
			require.Contains(t, out, "deleted")
			out, err = uninstall()
			require.NoError(t, err, out)
		})
	}
}
