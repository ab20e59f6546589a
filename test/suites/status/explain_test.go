package status_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/status/readiness"
)

// TestExplainRefusal has a quota refuse the second pod of a StatefulSet, and then admit the pod. Later, the pod
// is deleted while the first pod is not ready, so that the controller does not create it again. The event about
// the refusal is still there, and the pod is missing, but nothing refuses the pod.
func TestExplainRefusal(t *testing.T) {
	c, err := client.New(shared.Config(), client.Options{})
	require.NoError(t, err)
	namespace := shared.Namespace(t)
	eventually := func(about string, try func(context.Context) error) {
		t.Helper()
		require.NoError(t, shared.Await(t.Context(), limit, namespace, try), about)
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: named(namespace, "one"),
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	require.NoError(t, c.Create(t.Context(), quota))
	eventually("the quota", func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		return errorUnless(err == nil && len(quota.Status.Hard) == 1, "it does not count yet: %v", err)
	})
	set := &appsv1.StatefulSet{ObjectMeta: named(namespace, "web"), Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(2)), Selector: selector("web"), Template: template("web", good), ServiceName: "web",
	}}
	require.NoError(t, c.Create(t.Context(), set))

	// After ten attempts, the next one comes more than a second later: events have seconds only.
	eventually("attempts", func(ctx context.Context) error {
		events := refusals(ctx, t, c, namespace)
		return errorUnless(len(events) == 1 && events[0].Count >= 10, "not enough attempts: %+v", events)
	})
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(set), set))
	explained, err := readiness.Explain(t.Context(), c, set)
	require.NoError(t, err)
	require.Equal(t, "FailedCreate", explained.Reason)
	require.Contains(t, explained.Message, "1 of 2 pods are created: FailedCreate: Create Pod web-1 in StatefulSet web failed")
	require.Contains(t, explained.Message, "exceeded quota: one")

	require.NoError(t, c.Delete(t.Context(), quota))
	follow := func(about string, is func(appsv1.StatefulSetStatus) bool) {
		t.Helper()
		eventually(about, func(ctx context.Context) error {
			err := c.Get(ctx, client.ObjectKeyFromObject(set), set)
			return errorUnless(err == nil && is(set.Status), "%v: %+v", err, set.Status)
		})
	}
	follow("both pods", func(s appsv1.StatefulSetStatus) bool { return s.ReadyReplicas == 2 })
	require.NoError(t, c.Status().Patch(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-0"}},
		client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`))))
	follow("the first pod is not ready", func(s appsv1.StatefulSetStatus) bool { return s.ReadyReplicas == 1 })
	require.NoError(t, c.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-1"}}))
	follow("the second pod is gone", func(s appsv1.StatefulSetStatus) bool { return s.Replicas == 1 })

	require.Len(t, refusals(t.Context(), t, c, namespace), 1)
	eventually("the event about the creation", func(ctx context.Context) error {
		explained, err := readiness.Explain(ctx, c, set)
		return errorUnless(err == nil && explained.Reason == "InProgress" && explained.Message == "1 of 2 pods are created", "%v: %+v", err, explained)
	})
}

// refusals returns the events about pods of a StatefulSet that were refused.
func refusals(ctx context.Context, t *testing.T, c client.Client, namespace string) []corev1.Event {
	t.Helper()
	var events corev1.EventList
	require.NoError(t, c.List(ctx, &events, client.InNamespace(namespace)))
	return slices.DeleteFunc(events.Items, func(event corev1.Event) bool {
		return event.InvolvedObject.Kind != "StatefulSet" || event.Reason != "FailedCreate"
	})
}

func errorUnless(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
