package reversewordsapp_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"gomodules.xyz/jsonpatch/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestReadiness has pods appear, fail and disappear. Nobody changes the ReverseWordsApp meanwhile,
// except where the test is about its spec.
func TestReadiness(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"ready comes and goes with the pods":            testReadyFollowsPods,
		"under way":                                     testPending,
		"a version that is missing, from the start":     testMissing,
		"a version that is missing, behind one that is": testMissingBehindOld,
		"a version that crashes":                        testCrashing,
		"appPods are the Deployment's, and no others":   testAppPods,
		"appPods are never absent":                      testNoPods,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

func testReadyFollowsPods(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	seen := f.follow(t)
	f.create(t)
	f.settle(t)
	mark, pod := shared.Mark(), f.podNames(t)[1]
	f.setReady(t, pod, corev1.ConditionFalse)
	f.waitForReason(t, "Progressing")
	f.setReady(t, pod, corev1.ConditionTrue)
	f.settle(t)
	require.Empty(t, f.requests(t, mark), "nothing but the status was written")

	// False, True, False, True and nothing between; the other condition is always the
	// opposite.
	var ready []metav1.ConditionStatus
	for _, status := range seen() {
		is := map[string]metav1.ConditionStatus{}
		for _, condition := range status.Conditions {
			is[condition.Type] = condition.Status
		}
		require.NotNil(t, status.AppPods)
		require.NotEqual(t, is[v1alpha1.ReadyCondition], is[notReadyCondition])
		ready = append(ready, is[v1alpha1.ReadyCondition])
	}
	require.Empty(t, cmp.Diff([]metav1.ConditionStatus{"False", "True", "False", "True"}, slices.Compact(ready)))
}

// follow returns a function that returns the statuses of the fixture's ReverseWordsApp, from the
// first with conditions.
func (f fixture) follow(t *testing.T) (seen func() []v1alpha1.ReverseWordsAppStatus) {
	t.Helper()
	watch, err := admin(t).Watch(t.Context(), &v1alpha1.ReverseWordsAppList{}, client.InNamespace(f.namespace))
	require.NoError(t, err)
	t.Cleanup(watch.Stop)
	var mu sync.Mutex
	var statuses []v1alpha1.ReverseWordsAppStatus
	go func() {
		for event := range watch.ResultChan() {
			if app, ok := event.Object.(*v1alpha1.ReverseWordsApp); ok && len(app.Status.Conditions) > 0 {
				mu.Lock()
				statuses = append(statuses, app.Status)
				mu.Unlock()
			}
		}
	}()
	return func() []v1alpha1.ReverseWordsAppStatus {
		eventually(t, func(context.Context) error {
			now := f.app(t).Status
			mu.Lock()
			defer mu.Unlock()
			return expect(len(statuses) > 0 && cmp.Equal(statuses[len(statuses)-1], now), "the watch lags behind")
		})
		mu.Lock()
		defer mu.Unlock()
		return statuses
	}
}

func testPending(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	f.create(t, withVersion("pending"))
	f.waitForReason(t, "Progressing")
	eventually(t, func(context.Context) error { return expect(len(f.podNames(t)) == 2, "%v", f.podNames(t)) })
	f.waitForPods(t, func() []string { return f.podNames(t) })
	f.reconcile(t)

	// Only the pod shows this: its ReplicaSet and the Deployment do not change. The test uses the
	// status of an init container, as kwok would reset the status of the other containers at once.
	pod := get(t, f, f.podNames(t)[1], &corev1.Pod{})
	setStatus(t, pod, func(is *corev1.PodStatus) {
		is.InitContainerStatuses = []corev1.ContainerStatus{{
			Name: "init", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}},
		}}
	})
	require.Contains(t, f.waitForReason(t, "CreateContainerConfigError").Message, pod.Name)
	f.change(t, `{"appVersion":"latest"}`)
	f.settle(t)
}

func testMissing(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	f.create(t, withVersion("missing"))
	ready := f.waitForReason(t, "ImagePullBackOff")
	require.Contains(t, ready.Message, `pod "dp-shop-`)
	is := condition(f.app(t), notReadyCondition)
	require.Equal(t, metav1.ConditionTrue, is.Status)
	require.Equal(t, "ImagePullBackOff", is.Reason)
	eventually(t, func(context.Context) error { return expect(len(f.podNames(t)) == 2, "%v", f.podNames(t)) })
	f.waitForPods(t, func() []string { return f.podNames(t) })
	require.Len(t, f.app(t).Status.AppPods, 2, "they are pending")
	f.waitForWarnings(t, "ImagePullBackOff")
	f.change(t, `{"appVersion":"latest"}`)
	f.settle(t)
	f.waitForPods(t, func() []string { return f.podNames(t) })

	// The same failure within an hour is no news, also after a success.
	f.change(t, `{"appVersion":"missing"}`)
	f.waitForReason(t, "ImagePullBackOff")
	f.reconcile(t)
	f.waitForWarnings(t, "ImagePullBackOff")
}

// testMissingBehindOld rolls out a version without an image: the old pods still serve, but the
// ReverseWordsApp is not ready.
func testMissingBehindOld(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	old := f.podNames(t)
	f.change(t, `{"appVersion":"missing"}`)
	f.waitForReason(t, "ImagePullBackOff")
	eventually(t, func(context.Context) error {
		status := f.deployment(t).Status
		return expect(status.UpdatedReplicas == 1 && status.AvailableReplicas == 2, "not one new pod beside two old ones: %+v", status)
	})
	f.waitForPods(t, func() []string { return f.podNames(t) })
	require.Subset(t, f.app(t).Status.AppPods, old)
	f.change(t, `{"appVersion":"latest"}`)
	f.settle(t)
	f.waitForPods(t, func() []string { return old })
}

func testCrashing(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.change(t, `{"appVersion":"crashing"}`)
	require.Contains(t, f.waitForReason(t, "CrashLoopBackOff").Message, "container reversewords")
	f.waitForWarnings(t, "CrashLoopBackOff")
	f.change(t, `{"appVersion":"v0.0.2"}`)
	f.settle(t)
}

func testAppPods(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	own := f.podNames(t)
	f.waitForPods(t, func() []string { return own })

	// A foreign pod with all our labels except the ReplicaSet's own, which would make the
	// ReplicaSet adopt it.
	labels := maps.Clone(get(t, f, own[0], &corev1.Pod{}).Labels)
	delete(labels, "pod-template-hash")
	theirs := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.namespace, Name: "a-stranger", Labels: labels,
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "reversewords", Image: "quay.io/mavazque/reversewords:latest"}}},
	}
	require.NoError(t, admin(t).Create(t.Context(), theirs))
	eventually(t, func(context.Context) error {
		phase := get(t, f, theirs.Name, &corev1.Pod{}).Status.Phase
		return expect(phase == corev1.PodRunning, "it is %s", phase)
	})
	f.settle(t)
	require.Equal(t, own, f.app(t).Status.AppPods, "the label is anybody's")

	// A pod that its ReplicaSet releases and replaces.
	f.patch(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: own[0]}}, `{"metadata":{"labels":{"pod-template-hash":null}}}`)
	eventually(t, func(context.Context) error {
		pods := f.app(t).Status.AppPods
		return expect(len(pods) == 2 && !slices.Contains(pods, own[0]), "%v", pods)
	})
	f.settle(t)

	// A pod whose deletion a finalizer blocks.
	going := f.app(t).Status.AppPods[0]
	f.patch(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: going}}, `{"metadata":{"finalizers":["example.org/hold"]}}`)
	require.NoError(t, admin(t).Delete(t.Context(), get(t, f, going, &corev1.Pod{})))
	eventually(t, func(context.Context) error {
		pods := f.app(t).Status.AppPods
		return expect(len(pods) == 2 && !slices.Contains(pods, going), "%v", pods)
	})
	require.NotNil(t, get(t, f, going, &corev1.Pod{}).DeletionTimestamp, "it is there still")
	f.patch(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: going}}, `{"metadata":{"finalizers":null}}`)

	// More and fewer.
	for _, replicas := range []string{"4", "1"} {
		f.change(t, `{"replicas":`+replicas+`}`)
		f.settle(t)
		eventually(t, func(context.Context) error {
			app := f.app(t)
			pods := app.Status.AppPods
			return expect(len(pods) == int(app.Spec.Replicas) && slices.IsSorted(pods), "%v", pods)
		})
	}
}

// testNoPods lets no pods be created.
func testNoPods(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	tests.RefusePods(t, f.namespace)
	f.create(t)
	f.waitForReason(t, "FailedCreate")
	pods, found, err := unstructured.NestedSlice(f.raw(t), "status", "appPods")
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, pods)
}

// TestHiddenChild has a webhook remove the label that the operator's cache selects by. The
// ReverseWordsApp's state is still reported.
func TestHiddenChild(t *testing.T) {
	stop, err := shared.MutatingWebhook(t.Context(), "relabel", []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
	}}, admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Patched("", jsonpatch.NewOperation("replace", "/metadata/labels/app.kubernetes.io~1managed-by", "policy"))
	}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })

	f := newEmptyFixture(t, start(t))
	f.create(t)
	for range 2 {
		eventually(t, func(context.Context) error {
			status := f.app(t).Status
			return expect(len(status.Conditions) == 2 && len(status.Children) == 2, "%+v", status)
		})
		f.reconcile(t)
	}
}

// raw returns the live ReverseWordsApp.
func (f fixture) raw(t *testing.T) map[string]any {
	t.Helper()
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ReverseWordsApp"))
	return get(t, f, f.name, raw).Object
}
