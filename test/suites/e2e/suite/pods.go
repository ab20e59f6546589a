package suite

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CreateStranger creates a pod of somebody else with a label app, and waits until the pod is ready.
func (s *Suite) CreateStranger(t *testing.T, namespace, name, app string) {
	t.Helper()
	stranger := pod(namespace, name)
	stranger.Labels = map[string]string{"app": app}
	require.NoError(t, s.Admin(t).Create(t.Context(), stranger))
	s.Eventually(t, func(ctx context.Context) error {
		if err := s.Admin(t).Get(ctx, client.ObjectKeyFromObject(stranger), stranger); err != nil {
			return err
		}
		isReady := slices.ContainsFunc(stranger.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		return Expect(isReady, "the stranger is not ready: %+v", stranger.Status.Conditions)
	})
}

func pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.org/web:1"}}},
	}
}

// Endpoints are the names of the ready pods to which a Service sends traffic, sorted.
func (s *Suite) Endpoints(t *testing.T, namespace, service string) []string {
	t.Helper()
	var list discoveryv1.EndpointSliceList
	require.NoError(t, s.Admin(t).List(t.Context(), &list, client.InNamespace(namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: service}))
	var pods []string
	for _, item := range list.Items {
		for _, endpoint := range item.Endpoints {
			if endpoint.TargetRef != nil && ptr.Deref(endpoint.Conditions.Ready, false) {
				pods = append(pods, endpoint.TargetRef.Name)
			}
		}
	}
	slices.Sort(pods)
	return pods
}

// RefusePods has a quota refuse all pods in a namespace, and waits until the API server enforces the quota.
func (s *Suite) RefusePods(t *testing.T, namespace string) *corev1.ResourceQuota {
	t.Helper()
	return s.RefuseByQuota(t, corev1.ResourcePods, pod(namespace, "probe"))
}

// RefuseByQuota creates a quota of none of such objects, and waits until the API server refuses probe,
// which is one of them.
func (s *Suite) RefuseByQuota(t *testing.T, what corev1.ResourceName, probe client.Object) *corev1.ResourceQuota {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: probe.GetNamespace(), Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse("0")}},
	}
	require.NoError(t, s.Admin(t).Create(t.Context(), quota))
	s.waitForRefusal(t, probe, "exceeded quota")
	return quota
}

// EnforceRestricted has a namespace refuse pods that do not meet the pod security standard restricted.
func (s *Suite) EnforceRestricted(t *testing.T, namespace string) {
	t.Helper()
	s.Merge(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	s.waitForRefusal(t, pod(namespace, "probe"), "violates PodSecurity")
}

// waitForRefusal waits until the API server refuses to create obj with that text.
func (s *Suite) waitForRefusal(t *testing.T, obj client.Object, says string) {
	t.Helper()
	s.Eventually(t, func(ctx context.Context) error {
		created, _ := obj.DeepCopyObject().(client.Object)
		err := s.Admin(t).Create(ctx, created, client.DryRunAll)
		return Expect(err != nil && strings.Contains(err.Error(), says), "not refused yet: %v", err)
	})
}

// CheckScale requires that the subresource scale of obj has these replicas and pods, that its selector
// selects the pods, and that it refuses 1,001 replicas.
func (s *Suite) CheckScale(t *testing.T, obj client.Object, replicas, pods int32) {
	t.Helper()
	var scale autoscalingv1.Scale
	require.NoError(t, s.Admin(t).SubResource("scale").Get(t.Context(), obj, &scale))
	require.Equal(t, replicas, scale.Spec.Replicas)
	require.Equal(t, pods, scale.Status.Replicas)

	selector, err := labels.Parse(scale.Status.Selector)
	require.NoError(t, err)
	var selected corev1.PodList
	require.NoError(t, s.Admin(t).List(t.Context(), &selected, client.InNamespace(obj.GetNamespace()),
		client.MatchingLabelsSelector{Selector: selector}))
	require.Len(t, slices.DeleteFunc(selected.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }), int(pods))

	scale.Spec.Replicas = 1001
	err = s.Admin(t).SubResource("scale").Update(t.Context(), obj, client.WithSubResourceBody(&scale))
	require.True(t, apierrors.IsInvalid(err), "%v", err)
}
