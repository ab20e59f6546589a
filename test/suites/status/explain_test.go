package status_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/status/readiness"
)

// TestExplainRefusal has a quota refuse the second pod of a StatefulSet, and then admit the pod. Later, the pod
// is deleted while the first pod is not ready, so that the controller does not create it again. The event about
// the refusal is still there, and the pod is missing, but nothing refuses the pod.
func TestExplainRefusal(t *testing.T) {
	r := &report{client: newClient(t, "explain")}
	namespace := shared.Namespace(t)
	quota := create(t, r, &corev1.ResourceQuota{
		ObjectMeta: named(namespace, "one"),
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	})
	until(t, r, quota, func(q *corev1.ResourceQuota) bool { return len(q.Status.Hard) == 1 })
	set := create(t, r, &appsv1.StatefulSet{ObjectMeta: named(namespace, "web"), Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(2)), Selector: selector("web"), Template: template("web", good), ServiceName: "web",
	}})

	// After ten attempts, the next one comes more than a second later: events have seconds only.
	require.Eventually(t, func() bool {
		events := refusals(t, r, namespace)
		return len(events) == 1 && events[0].Count >= 10
	}, limit, tick)
	until(t, r, set, func(s *appsv1.StatefulSet) bool { return s.Status.Replicas == 1 })
	explained, err := readiness.Explain(t.Context(), r.client, set)
	require.NoError(t, err)
	require.Equal(t, "FailedCreate", explained.Reason)
	require.Contains(t, explained.Message, "1 of 2 pods are created: FailedCreate: Create Pod web-1 in StatefulSet web failed")
	require.Contains(t, explained.Message, "exceeded quota: one")

	require.NoError(t, r.client.Delete(t.Context(), quota))
	until(t, r, set, func(s *appsv1.StatefulSet) bool { return s.Status.ReadyReplicas == 2 })
	require.NoError(t, r.client.Status().Patch(t.Context(), &corev1.Pod{ObjectMeta: named(namespace, "web-0")},
		client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`))))
	until(t, r, set, func(s *appsv1.StatefulSet) bool { return s.Status.ReadyReplicas == 1 })
	require.NoError(t, r.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: named(namespace, "web-1")}))
	until(t, r, set, func(s *appsv1.StatefulSet) bool { return s.Status.Replicas == 1 })

	require.Len(t, refusals(t, r, namespace), 1)
	want := readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "1 of 2 pods are created"}
	require.Eventually(t, func() bool { // the event about the creation may come late
		explained, err := readiness.Explain(t.Context(), r.client, set)
		return err == nil && explained == want
	}, limit, tick)
}

// refusals returns the events about pods of a StatefulSet that were refused.
func refusals(t *testing.T, r *report, namespace string) []corev1.Event {
	t.Helper()
	var events corev1.EventList
	require.NoError(t, r.client.List(t.Context(), &events, client.InNamespace(namespace)))
	return slices.DeleteFunc(events.Items, func(event corev1.Event) bool {
		return event.InvolvedObject.Kind != "StatefulSet" || event.Reason != "FailedCreate"
	})
}
