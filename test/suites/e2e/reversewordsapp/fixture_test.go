package reversewordsapp_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

const notReadyCondition = v1alpha1.DeploymentNotReadyCondition

// A fixture is a namespace with one ReverseWordsApp and its operator.
type fixture struct {
	operator  *operator.Process
	namespace string
	name      string
}

// newFixture creates a ReverseWordsApp of two pods in its own namespace, and waits until nothing
// changes any more.
func newFixture(t *testing.T, process *operator.Process) fixture {
	t.Helper()
	f := newEmptyFixture(t, process)
	f.create(t)
	f.settle(t)
	return f
}

func newEmptyFixture(t *testing.T, process *operator.Process) fixture {
	t.Helper()
	return fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
}

// create makes the fixture's ReverseWordsApp, changed by mutate.
func (f fixture) create(t *testing.T, mutate ...func(*v1alpha1.ReverseWordsApp)) {
	t.Helper()
	app := f.named()
	app.Spec.Replicas = 2
	for _, change := range mutate {
		change(app)
	}
	require.NoError(t, admin(t).Create(t.Context(), app))
}

func withVersion(version string) func(*v1alpha1.ReverseWordsApp) {
	return func(app *v1alpha1.ReverseWordsApp) { app.Spec.AppVersion = version }
}

// selectorOf returns the labels by which a ReverseWordsApp's children select pods.
func selectorOf(name string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": "reversewordsapp", "app.kubernetes.io/instance": name, "app.kubernetes.io/component": "web",
	}
}

// named is the ReverseWordsApp by name and nothing else.
func (f fixture) named() *v1alpha1.ReverseWordsApp {
	return &v1alpha1.ReverseWordsApp{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name}}
}

func (f fixture) app(t *testing.T) *v1alpha1.ReverseWordsApp {
	t.Helper()
	return get(t, f, f.name, &v1alpha1.ReverseWordsApp{})
}

func (f fixture) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	return get(t, f, "dp-"+f.name, &appsv1.Deployment{})
}

func (f fixture) service(t *testing.T) *corev1.Service {
	t.Helper()
	return get(t, f, "service-"+f.name, &corev1.Service{})
}

// children are both, as they are now.
func (f fixture) children(t *testing.T) map[string]client.Object {
	t.Helper()
	return map[string]client.Object{"Deployment": f.deployment(t), "Service": f.service(t)}
}

// pods returns all pods with the label by name, including pods that are being deleted.
func (f fixture) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	require.NoError(t, admin(t).List(t.Context(), &list, client.InNamespace(f.namespace), client.MatchingLabels{"app": f.name}))
	return list.Items
}

// podNames returns the names of the pods that are not being deleted.
func (f fixture) podNames(t *testing.T) []string {
	t.Helper()
	names := []string{}
	for _, pod := range f.pods(t) {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// change patches the ReverseWordsApp's spec.
func (f fixture) change(t *testing.T, spec string) {
	t.Helper()
	f.patch(t, f.named(), `{"spec":`+spec+`}`)
}

func (f fixture) patch(t *testing.T, obj client.Object, patch string) {
	t.Helper()
	obj.SetNamespace(f.namespace)
	tests.Merge(t, obj, patch)
}

func (f fixture) delete(t *testing.T, opts ...client.DeleteOption) {
	t.Helper()
	require.NoError(t, admin(t).Delete(t.Context(), f.named(), opts...))
}

// warned returns the reasons of all events that warn of the ReverseWordsApp.
func (f fixture) warned(t *testing.T) []string {
	t.Helper()
	var list eventsv1.EventList
	require.NoError(t, admin(t).List(t.Context(), &list, client.InNamespace(f.namespace)))
	var reasons []string
	for i := range list.Items {
		if event := &list.Items[i]; event.Regarding.UID == f.app(t).UID && event.Type == corev1.EventTypeWarning {
			reasons = append(reasons, event.Reason)
		}
	}
	return reasons
}

// waitForWarnings waits until events warn of the ReverseWordsApp for these reasons.
func (f fixture) waitForWarnings(t *testing.T, reasons ...string) {
	t.Helper()
	eventually(t, func(context.Context) error {
		seen := f.warned(t)
		slices.Sort(seen)
		return expect(slices.Equal(reasons, seen), "expected %v, seen %v", reasons, seen)
	})
}

// setReady writes a pod's readiness into its status, as its kubelet would.
func (f fixture) setReady(t *testing.T, pod string, status corev1.ConditionStatus) {
	t.Helper()
	live := get(t, f, pod, &corev1.Pod{})
	setStatus(t, live, func(is *corev1.PodStatus) {
		for i := range is.Conditions {
			if is.Conditions[i].Type == corev1.PodReady {
				is.Conditions[i].Status = status
			}
		}
	})
}

// setStatus applies only change to a pod's status: the scheduler and kwok may write the status,
// too.
func setStatus(t *testing.T, pod *corev1.Pod, change func(*corev1.PodStatus)) {
	t.Helper()
	before := pod.DeepCopy()
	change(&pod.Status)
	require.NoError(t, admin(t).Status().Patch(t.Context(), pod, client.StrategicMergeFrom(before)))
}

// reconcile makes the operator reconcile the ReverseWordsApp again, and waits until it has.
func (f fixture) reconcile(t *testing.T) {
	t.Helper()
	tests.Reconcile(t, f.operator, f.named())
}

// settle waits until the Deployment is rolled out, Ready is up to date, and the operator has
// nothing left to do.
func (f fixture) settle(t *testing.T) {
	t.Helper()
	tests.Settle(t, f.operator, f.named(), f.isAtRest)
}

func (f fixture) isAtRest(ctx context.Context) error {
	c, err := tests.Client()
	if err != nil {
		return err
	}
	if err := operator.RolledOut(ctx, c, client.ObjectKey{Namespace: f.namespace, Name: "dp-" + f.name}); err != nil {
		return err
	}
	app := f.named()
	if err := c.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
		return err
	}
	return isReady(app)
}

func isReady(app *v1alpha1.ReverseWordsApp) error {
	for kind, want := range map[string]metav1.ConditionStatus{
		v1alpha1.ReadyCondition: metav1.ConditionTrue, notReadyCondition: metav1.ConditionFalse,
	} {
		is := condition(app, kind)
		if is.Status != want || is.ObservedGeneration != app.Generation || app.Status.ObservedGeneration != app.Generation {
			return expect(false, "generation %d is not ready: %+v", app.Generation, app.Status)
		}
	}
	return nil
}

// waitForReason waits until the ReverseWordsApp is not ready for this reason.
func (f fixture) waitForReason(t *testing.T, reason string) metav1.Condition {
	t.Helper()
	var ready metav1.Condition
	eventually(t, func(context.Context) error {
		app := f.app(t)
		ready = condition(app, v1alpha1.ReadyCondition)
		return expect(ready.Status == metav1.ConditionFalse && ready.Reason == reason && ready.ObservedGeneration == app.Generation,
			"expected reason %s, seen %+v", reason, ready)
	})
	return ready
}

// waitForPods waits until appPods lists these pods.
func (f fixture) waitForPods(t *testing.T, want func() []string) {
	t.Helper()
	eventually(t, func(context.Context) error {
		names, got := want(), f.app(t).Status.AppPods
		return expect(got != nil && slices.Equal(names, got), "expected pods %v, seen %v", names, got)
	})
}

// waitUntilGone waits until an object of that name is not there.
func (f fixture) waitUntilGone(t *testing.T, name string, obj client.Object) {
	t.Helper()
	tests.WaitUntilGone(t, client.ObjectKey{Namespace: f.namespace, Name: name}, obj)
}

// isAbsent requires that an object of that name is not there.
func (f fixture) isAbsent(t *testing.T, name string, obj client.Object) {
	t.Helper()
	tests.CheckAbsent(t, client.ObjectKey{Namespace: f.namespace, Name: name}, obj)
}

// condition is that of a type, the zero condition if there is none.
func condition(app *v1alpha1.ReverseWordsApp, kind string) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(app.Status.Conditions, kind), metav1.Condition{})
}

// requests counts the operator's requests about this namespace since the mark, except its status
// writes.
func (f fixture) requests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	counts := f.allRequests(t, since)
	delete(counts, "patch reversewordsapps/status")
	return counts
}

func (f fixture) allRequests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	return tests.Requests(t, since, f.namespace)
}

func get[T client.Object](t *testing.T, f fixture, name string, obj T) T {
	t.Helper()
	require.NoError(t, admin(t).Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, obj))
	return obj
}
