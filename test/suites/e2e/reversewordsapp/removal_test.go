package reversewordsapp_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// collectorLimit bounds the time of the garbage collector, which looks for new custom kinds every
// 30 seconds.
const collectorLimit = 90 * time.Second

// TestRemoval deletes ReverseWordsApps.
func TestRemoval(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"children first":                          testChildrenFirst,
		"pods that take their time":               testSlowPods,
		"a load balancer that takes its time":     testSlowService,
		"somebody else's finalizer is left alone": testForeignFinalizer,
		"in the foreground":                       testForegroundRemoval,
		"before anything was made":                testEarlyRemoval,
		"a whole namespace":                       testNamespaceRemoval,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

// testChildrenFirst looks for children the moment the ReverseWordsApp is gone: no
// garbage collector has had time to take them along.
func testChildrenFirst(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark, earlier := shared.Mark(), f.children(t)
	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
	f.isAbsent(t, "service-shop", &corev1.Service{})
	f.isAbsent(t, "dp-shop", &appsv1.Deployment{})
	require.Empty(t, f.pods(t))

	requests := f.requests(t, mark)
	require.Equal(t, 1, requests["delete services"], "%v", requests)
	require.Equal(t, 1, requests["delete deployments"], "%v", requests)
	// One write removes the finalizer. The cache may show the ReverseWordsApp once more afterwards;
	// then the operator tries a second write to the deleted object.
	require.Contains(t, []int{1, 2}, requests["patch reversewordsapps"], "%v", requests)
	require.Zero(t, requests["patch deployments"]+requests["patch services"], "%v", requests)

	f.create(t)
	f.settle(t)
	for kind, child := range f.children(t) {
		require.NotEqual(t, earlier[kind].GetUID(), child.GetUID(), kind)
	}
}

// testSlowPods holds a pod, and so the Deployment and the ReverseWordsApp.
func testSlowPods(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	held := f.podNames(t)[0]
	f.patch(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: held}}, `{"metadata":{"finalizers":["example.org/hold"]}}`)
	f.delete(t)
	f.waitUntilGone(t, "service-shop", &corev1.Service{})
	eventually(t, func(context.Context) error {
		pods := f.pods(t)
		return expect(len(pods) == 1 && pods[0].Name == held && pods[0].DeletionTimestamp != nil, "%d pods", len(pods))
	})
	require.Equal(t, []string{metav1.FinalizerDeleteDependents}, f.deployment(t).Finalizers, "in the foreground")
	eventually(t, func(context.Context) error {
		status := f.app(t).Status
		return expect(len(status.Children) == 1 && status.AppPods != nil && len(status.AppPods) == 0, "%+v", status)
	})
	eventually(t, func(context.Context) error {
		message := f.waitForReason(t, "Terminating").Message
		return expect(message == `still there: Deployment "dp-shop" and its pods`, "%s", message)
	})
	require.Equal(t, metav1.ConditionTrue, condition(f.app(t), notReadyCondition).Status)
	require.Equal(t, "Deployment", f.app(t).Status.Children[0].Kind)

	// Nothing comes back meanwhile.
	mark := shared.Mark()
	f.reconcile(t)
	f.isAbsent(t, "service-shop", &corev1.Service{})
	require.Empty(t, f.allRequests(t, mark), "that the Service is gone is known")

	f.patch(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: held}}, `{"metadata":{"finalizers":null}}`)
	f.waitUntilGone(t, f.name, f.named())
	f.isAbsent(t, "dp-shop", &appsv1.Deployment{})
}

func testSlowService(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.patch(t, f.service(t), `{"metadata":{"finalizers":["service.kubernetes.io/load-balancer-cleanup"]}}`)
	f.settle(t)
	f.delete(t)
	f.waitUntilGone(t, "dp-shop", &appsv1.Deployment{})
	eventually(t, func(context.Context) error {
		message := condition(f.app(t), v1alpha1.ReadyCondition).Message
		return expect(message == `still there: Service "service-shop"`, "%s", message)
	})
	f.patch(t, f.service(t), `{"metadata":{"finalizers":null}}`)
	f.waitUntilGone(t, f.name, f.named())
	f.isAbsent(t, "service-shop", &corev1.Service{})
}

func testForeignFinalizer(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.patch(t, f.named(), `{"metadata":{"finalizers":["example.org/hold","`+v1alpha1.Finalizer+`"]}}`)
	f.settle(t)
	f.delete(t)
	eventually(t, func(context.Context) error {
		left := f.app(t).Finalizers
		return expect(slices.Equal(left, []string{"example.org/hold"}), "%v", left)
	})
	f.isAbsent(t, "service-shop", &corev1.Service{})
	f.isAbsent(t, "dp-shop", &appsv1.Deployment{})
	eventually(t, func(context.Context) error {
		message := condition(f.app(t), v1alpha1.ReadyCondition).Message
		return expect(strings.Contains(message, "somebody else's finalizer is left"), "%s", message)
	})
	require.Empty(t, f.app(t).Status.Children)

	mark := shared.Mark()
	f.reconcile(t)
	require.Empty(t, f.allRequests(t, mark), "nothing is left to do")
	f.patch(t, f.named(), `{"metadata":{"finalizers":null}}`)
	f.waitUntilGone(t, f.name, f.named())
	f.create(t)
	f.settle(t)
}

// testForegroundRemoval has the garbage collector at work as well.
func testForegroundRemoval(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.delete(t, client.PropagationPolicy(metav1.DeletePropagationForeground))
	f.waitUntilGone(t, f.name, f.named())
	f.isAbsent(t, "service-shop", &corev1.Service{})
	f.isAbsent(t, "dp-shop", &appsv1.Deployment{})
}

// testEarlyRemoval repeatedly deletes a ReverseWordsApp right after its creation. Children created
// meanwhile are deleted, too, though not always by the operator: a server that checks finalizers
// before it deletes misses a finalizer added in between, and the garbage collector has to find the
// children.
func testEarlyRemoval(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	for range 10 {
		f.create(t)
		f.delete(t)
		f.waitUntilGone(t, f.name, f.named())
	}
	for name, child := range map[string]client.Object{"dp-shop": &appsv1.Deployment{}, "service-shop": &corev1.Service{}} {
		require.NoError(t, shared.Await(t.Context(), collectorLimit, "", func(ctx context.Context) error {
			err := admin(t).Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, child)
			return expect(apierrors.IsNotFound(err), "%s is not gone: %v", name, err)
		}))
	}
	f.create(t)
	f.settle(t)
}

// testNamespaceRemoval deletes the whole namespace, children before their ReverseWordsApp. The
// operator does not retry objects that cannot be created again.
func testNamespaceRemoval(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark := shared.Mark()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	require.NoError(t, admin(t).Delete(t.Context(), namespace))
	eventually(t, func(ctx context.Context) error {
		err := admin(t).Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return expect(apierrors.IsNotFound(err), "not gone: %v", err)
	})
	total := 0
	for _, count := range f.allRequests(t, mark) {
		total += count
	}
	require.Less(t, total, 30, "%v", f.allRequests(t, mark))
}

// TestRemovalWhileDown deletes ReverseWordsApps, and a child of another, while no operator
// runs. One has a child that lost the label which the next operator's cache selects by:
// that cache will never show that the child goes.
func TestRemovalWhileDown(t *testing.T) {
	longform.Only(t)
	first := start(t)
	f := newFixture(t, first)
	other, hidden := newFixture(t, first), newFixture(t, first)
	require.NoError(t, first.Stop())
	f.delete(t)
	require.NoError(t, admin(t).Delete(t.Context(), f.service(t)))
	require.NoError(t, admin(t).Delete(t.Context(), other.service(t)))
	hidden.patch(t, hidden.service(t), `{"metadata":{"labels":null}}`)
	hidden.delete(t)
	require.NotNil(t, f.app(t).DeletionTimestamp, "the finalizer keeps it")

	other.operator = start(t)
	for _, gone := range []fixture{f, hidden} {
		gone.waitUntilGone(t, gone.name, gone.named())
		gone.isAbsent(t, "dp-shop", &appsv1.Deployment{})
		gone.isAbsent(t, "service-shop", &corev1.Service{})
	}
	other.settle(t)
	require.NotEmpty(t, other.service(t).UID)
}
