package application_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

const (
	digestLabel = "utilities.operators.sample.ibm.com/hash"
	image       = "docker.io/nheidloff/simplemicroservice:v1.0.117"
)

// A fixture is a namespace with one Application and its operator.
type fixture struct {
	operator  *operator.Process
	namespace string
	name      string
}

// newFixture creates an Application of two pods in its own namespace, and waits until nothing changes
// any more.
func newFixture(t *testing.T, process *operator.Process) fixture {
	t.Helper()
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
	f.create(t)
	f.settle(t)
	return f
}

// create makes the fixture's Application, changed by mutate.
func (f fixture) create(t *testing.T, mutate ...func(*v1alpha1.Application)) {
	t.Helper()
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name},
		Spec:       v1alpha1.ApplicationSpec{AmountPods: new(int32(2))},
	}
	for _, change := range mutate {
		change(app)
	}
	require.NoError(t, admin(t).Create(t.Context(), app))
}

func (f fixture) application(t *testing.T) *v1alpha1.Application {
	t.Helper()
	return get(t, f, f.name, &v1alpha1.Application{})
}

func (f fixture) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	return get(t, f, f.name+"-secret-greeting", &corev1.Secret{})
}

func (f fixture) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	return get(t, f, f.name+"-deployment-microservice", &appsv1.Deployment{})
}

func (f fixture) service(t *testing.T) *corev1.Service {
	t.Helper()
	return get(t, f, f.name+"-service-microservice", &corev1.Service{})
}

// children are the three, as they are now.
func (f fixture) children(t *testing.T) map[string]client.Object {
	t.Helper()
	return map[string]client.Object{"Secret": f.secret(t), "Deployment": f.deployment(t), "Service": f.service(t)}
}

// pods returns the pods that are not being deleted.
func (f fixture) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	require.NoError(t, admin(t).List(t.Context(), &list, client.InNamespace(f.namespace),
		client.MatchingLabels{"app": f.name + "-microservice"}))
	var pods []corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, list.Items[i])
		}
	}
	return pods
}

// change patches the Application's spec.
func (f fixture) change(t *testing.T, spec string) {
	t.Helper()
	f.patch(t, f.named(), `{"spec":`+spec+`}`)
}

// patch sends a merge patch as the admin.
func (f fixture) patch(t *testing.T, obj client.Object, patch string) {
	t.Helper()
	obj.SetNamespace(f.namespace)
	tests.Merge(t, obj, patch)
}

// reconcile makes the operator reconcile the Application again, and waits until it has.
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

func (f fixture) named() *v1alpha1.Application {
	return &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name}}
}

func (f fixture) isAtRest(ctx context.Context) error {
	c, err := tests.Client()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: f.namespace, Name: f.name + "-deployment-microservice"}
	if err := operator.RolledOut(ctx, c, key); err != nil {
		return err
	}
	return f.isReady(ctx)
}

func (f fixture) isReady(ctx context.Context) error {
	c, err := tests.Client()
	if err != nil {
		return err
	}
	var app v1alpha1.Application
	if err := c.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: f.name}, &app); err != nil {
		return err
	}
	ready := condition(&app)
	return expect(ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == app.Generation,
		"generation %d is not ready: %+v", app.Generation, ready)
}

// waitForReason waits until the Application is not ready for this reason.
func (f fixture) waitForReason(t *testing.T, reason string) metav1.Condition {
	t.Helper()
	var ready metav1.Condition
	eventually(t, func(context.Context) error {
		app := f.application(t)
		ready = condition(app)
		return expect(ready.Status == metav1.ConditionFalse && ready.Reason == reason && ready.ObservedGeneration == app.Generation,
			"expected reason %s, seen %+v", reason, ready)
	})
	return ready
}

// condition is Ready, the zero condition if there is none.
func condition(app *v1alpha1.Application) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(app.Status.Conditions, v1alpha1.ReadyCondition), metav1.Condition{})
}

// requests counts the operator's requests about this namespace since the mark, except its status
// writes.
func (f fixture) requests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	counts := f.allRequests(t, since)
	delete(counts, "patch applications/status")
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
