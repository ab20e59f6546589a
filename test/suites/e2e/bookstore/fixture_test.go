package bookstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// A fixture is a namespace with one BookStore and its operator.
type fixture struct {
	operator  *operator.Process
	namespace string
	name      string
}

// newFixture creates a BookStore of two databases and two pods of the app, changed by mutate, in its
// own namespace. It waits until nothing changes any more.
func newFixture(t *testing.T, process *operator.Process, mutate ...func(*v1alpha1.BookStore)) fixture {
	t.Helper()
	f := newEmptyFixture(t, process)
	f.create(t, mutate...)
	f.settle(t)
	return f
}

func newEmptyFixture(t *testing.T, process *operator.Process) fixture {
	t.Helper()
	return fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
}

// create makes the fixture's BookStore.
func (f fixture) create(t *testing.T, mutate ...func(*v1alpha1.BookStore)) {
	t.Helper()
	store := f.named()
	store.Spec.BookApp.Replicas = 2
	store.Spec.BookDB.Replicas = 2
	for _, change := range mutate {
		change(store)
	}
	require.NoError(t, admin(t).Create(t.Context(), store))
}

// selectorOf returns the labels by which the children of a BookStore select pods.
func selectorOf(name, component string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": "bookstore", "app.kubernetes.io/instance": name, "app.kubernetes.io/component": component,
	}
}

// named is the BookStore by name and nothing else.
func (f fixture) named() *v1alpha1.BookStore {
	return &v1alpha1.BookStore{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name}}
}

func (f fixture) store(t *testing.T) *v1alpha1.BookStore {
	t.Helper()
	return get(t, f, f.name, &v1alpha1.BookStore{})
}

func (f fixture) set(t *testing.T) *appsv1.StatefulSet {
	t.Helper()
	return get(t, f, f.name+"-mongodb", &appsv1.StatefulSet{})
}

func (f fixture) app(t *testing.T) *appsv1.Deployment {
	t.Helper()
	return get(t, f, f.name+"-app", &appsv1.Deployment{})
}

// service is the one in front of the app, or the database's headless one.
func (f fixture) service(t *testing.T, name string) *corev1.Service {
	t.Helper()
	return get(t, f, name, &corev1.Service{})
}

// createForeign creates a Service of somebody else.
func (f fixture) createForeign(t *testing.T, name string) *corev1.Service {
	t.Helper()
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}
	require.NoError(t, admin(t).Create(t.Context(), theirs))
	return theirs
}

// children are all four, as they are now, in the order in which they are made.
func (f fixture) children(t *testing.T) []client.Object {
	t.Helper()
	return []client.Object{f.service(t, f.name+"-mongodb"), f.set(t), f.app(t), f.service(t, f.name+"-app")}
}

func (f fixture) claimName(ordinal int) string {
	return fmt.Sprintf("mongodb-pvc-%s-mongodb-%d", f.name, ordinal)
}

func (f fixture) claim(t *testing.T, ordinal int) *corev1.PersistentVolumeClaim {
	t.Helper()
	return get(t, f, f.claimName(ordinal), &corev1.PersistentVolumeClaim{})
}

// pod is one of the database's.
func (f fixture) pod(t *testing.T, ordinal int) *corev1.Pod {
	t.Helper()
	return get(t, f, f.podName(ordinal), &corev1.Pod{})
}

func (f fixture) podName(ordinal int) string { return fmt.Sprintf("%s-mongodb-%d", f.name, ordinal) }

// uids returns the UIDs of the database's first two pods and their claims, by name.
func (f fixture) uids(t *testing.T) map[string]types.UID {
	t.Helper()
	uids := map[string]types.UID{}
	for ordinal := range 2 {
		for _, obj := range []client.Object{f.pod(t, ordinal), f.claim(t, ordinal)} {
			uids[obj.GetName()] = obj.GetUID()
		}
	}
	return uids
}

// change patches the BookStore's spec.
func (f fixture) change(t *testing.T, spec string) {
	t.Helper()
	f.patch(t, f.named(), `{"spec":`+spec+`}`)
}

// grow asks for another size.
func (f fixture) grow(t *testing.T, size string) {
	t.Helper()
	f.change(t, `{"bookDB":{"dbSize":"`+size+`"}}`)
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

// reconcile makes the operator reconcile the BookStore again, and waits until it has.
func (f fixture) reconcile(t *testing.T) {
	t.Helper()
	tests.Reconcile(t, f.operator, f.named())
}

// settle waits until everything is rolled out, volumes included, the conditions are up to date, and
// the operator has nothing left to do.
func (f fixture) settle(t *testing.T) {
	t.Helper()
	tests.Settle(t, f.operator, f.named(), f.isAtRest)
}

func (f fixture) isAtRest(ctx context.Context) error {
	store, err := f.rolledOut(ctx)
	if err != nil {
		return err
	}
	return isTrue(store, v1alpha1.VolumeResizedCondition)
}

// rolledOut returns the BookStore once the BookStore is ready and its app rolled out.
func (f fixture) rolledOut(ctx context.Context) (*v1alpha1.BookStore, error) {
	c, err := tests.Client()
	if err != nil {
		return nil, err
	}
	if err := operator.RolledOut(ctx, c, client.ObjectKey{Namespace: f.namespace, Name: f.name + "-app"}); err != nil {
		return nil, err
	}
	store := f.named()
	if err := c.Get(ctx, client.ObjectKeyFromObject(store), store); err != nil {
		return nil, err
	}
	return store, isTrue(store, v1alpha1.ReadyCondition)
}

// isTrue is nil if the condition is, of the current spec.
func isTrue(store *v1alpha1.BookStore, kind string) error {
	is := condition(store, kind)
	return expect(is.Status == metav1.ConditionTrue && is.ObservedGeneration == store.Generation,
		"generation %d: %s is %+v", store.Generation, kind, is)
}

// waitForReason waits until the condition is False for this reason, of the current spec.
func (f fixture) waitForReason(t *testing.T, kind, reason string) metav1.Condition {
	t.Helper()
	var is metav1.Condition
	eventually(t, func(context.Context) error {
		store := f.store(t)
		is = condition(store, kind)
		return expect(is.Status == metav1.ConditionFalse && is.Reason == reason && is.ObservedGeneration == store.Generation,
			"expected %s for reason %s, seen %+v", kind, reason, is)
	})
	return is
}

// waitForDone waits until the volumes are as the current spec asks for.
func (f fixture) waitForDone(t *testing.T) {
	t.Helper()
	eventually(t, func(context.Context) error { return isTrue(f.store(t), v1alpha1.VolumeResizedCondition) })
}

// waitUntilGone waits until an object of that name is not there.
func (f fixture) waitUntilGone(t *testing.T, name string, obj client.Object) {
	t.Helper()
	tests.WaitUntilGone(t, client.ObjectKey{Namespace: f.namespace, Name: name}, obj)
}

// condition is that of a type, the zero condition if there is none.
func condition(store *v1alpha1.BookStore, kind string) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(store.Status.Conditions, kind), metav1.Condition{})
}

// requests counts the operator's requests about this namespace since the mark, except its status
// writes.
func (f fixture) requests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	counts := f.allRequests(t, since)
	delete(counts, "patch bookstores/status")
	return counts
}

func (f fixture) allRequests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	return tests.Requests(t, since, f.namespace)
}

// isAbsent requires that an object of that name is not there.
func (f fixture) isAbsent(t *testing.T, name string, obj client.Object) {
	t.Helper()
	tests.CheckAbsent(t, client.ObjectKey{Namespace: f.namespace, Name: name}, obj)
}

func asks(claim *corev1.PersistentVolumeClaim) string {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return size.String()
}

func has(claim *corev1.PersistentVolumeClaim) string {
	size := claim.Status.Capacity[corev1.ResourceStorage]
	return size.String()
}

// template is the size that new claims of the set ask for.
func template(set *appsv1.StatefulSet) string {
	return asks(&set.Spec.VolumeClaimTemplates[0])
}

func get[T client.Object](t *testing.T, f fixture, name string, obj T) T {
	t.Helper()
	require.NoError(t, admin(t).Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, obj))
	return obj
}
