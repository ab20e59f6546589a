package installed_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestTwoPods checks on the API server what keeps conversions available: two pods, of which a drain evicts one after the
// other. The Service of the webhook leads to pods that are ready, and to no pod of another operator.
func TestTwoPods(t *testing.T) {
	f := newFixture(t, application)
	all := f.buildEdited(t, "", "namespace: operator-application-system\n", "namespace: two-pods\n")
	kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", all.path)
	manager, budget := all.manager(t), find[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget", "")
	require.Contains(t, manager.Spec.Template.Spec.Containers[0].Args, "--leader-elect")
	clients, err := kubernetes.NewForConfig(shared.Config())
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error {
		live, err := clients.PolicyV1().PodDisruptionBudgets(manager.Namespace).Get(ctx, budget.Name, metav1.GetOptions{})
		if err == nil && (live.Status.ExpectedPods != 2 || live.Status.CurrentHealthy != 2 || live.Status.DisruptionsAllowed != 1) {
			err = fmt.Errorf("the budget is %+v", live.Status)
		}
		return err
	})

	stranger := &corev1.Pod{Spec: *manager.Spec.Template.Spec.DeepCopy()}
	stranger.Name, stranger.Labels = "stranger", map[string]string{"control-plane": "controller-manager"}
	_, err = clients.CoreV1().Pods(manager.Namespace).Create(t.Context(), stranger, metav1.CreateOptions{})
	require.NoError(t, err)
	kubectl(t, "-n", manager.Namespace, "wait", "--for=condition=Ready", "pod/stranger", "--timeout="+limit.String())
	pods, err := clients.CoreV1().Pods(manager.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name"})
	require.NoError(t, err)
	require.Len(t, pods.Items, 2)
	unready, ready := pods.Items[0].Name, pods.Items[1].Name
	kubectl(t, "-n", manager.Namespace, "patch", "pod", unready, "--subresource=status", "--type=strategic",
		`--patch={"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	service := find[corev1.Service](t, all, "Service", "webhook-service")
	eventually(t, func(ctx context.Context) error {
		known, leads, err := endpoints(ctx, clients, manager.Namespace, service.Name)
		if err == nil && (!slices.Equal(leads, []string{ready}) || len(known) != 2 || !slices.Contains(known, unready)) {
			err = fmt.Errorf("of %v, it leads to %v", known, leads)
		}
		return err
	})
	eventually(t, func(ctx context.Context) error {
		eviction := &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: manager.Namespace, Name: ready},
			DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
		}
		if err := clients.PolicyV1().Evictions(manager.Namespace).Evict(ctx, eviction); !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("the only pod that converts may be evicted: %w", err)
		}
		return nil
	})
}

// endpoints returns the names of the pods that a Service knows, and of those to which it leads.
func endpoints(ctx context.Context, clients kubernetes.Interface, namespace, service string) (known, leads []string, err error) {
	list, err := clients.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service,
	})
	if err != nil {
		return nil, nil, err
	}
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			known = append(known, endpoint.TargetRef.Name)
			if *endpoint.Conditions.Ready {
				leads = append(leads, endpoint.TargetRef.Name)
			}
		}
	}
	return known, leads, nil
}
