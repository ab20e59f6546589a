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

// A scene is a namespace with one Application and its operator.
type scene struct {
	operator  *operator.Process
	namespace string
	name      string
}

// newScene creates an Application of two pods in its own namespace, and waits until nothing changes
// any more.
func newScene(t *testing.T, process *operator.Process) scene {
	t.Helper()
	s := scene{operator: process, namespace: shared.Namespace(t), name: "shop"}
	s.create(t)
	s.settle(t)
	return s
}

// create makes the scene's Application, changed by mutate.
func (s scene) create(t *testing.T, mutate ...func(*v1alpha1.Application)) {
	t.Helper()
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name},
		Spec:       v1alpha1.ApplicationSpec{AmountPods: new(int32(2))},
	}
	for _, change := range mutate {
		change(app)
	}
	require.NoError(t, human(t).Create(t.Context(), app))
}

func (s scene) application(t *testing.T) *v1alpha1.Application {
	t.Helper()
	return get(t, s, s.name, &v1alpha1.Application{})
}

func (s scene) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	return get(t, s, s.name+"-secret-greeting", &corev1.Secret{})
}

func (s scene) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	return get(t, s, s.name+"-deployment-microservice", &appsv1.Deployment{})
}

func (s scene) service(t *testing.T) *corev1.Service {
	t.Helper()
	return get(t, s, s.name+"-service-microservice", &corev1.Service{})
}

// children are the three, as they are now.
func (s scene) children(t *testing.T) map[string]client.Object {
	t.Helper()
	return map[string]client.Object{"Secret": s.secret(t), "Deployment": s.deployment(t), "Service": s.service(t)}
}

// pods returns the pods that are not being deleted.
func (s scene) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	require.NoError(t, human(t).List(t.Context(), &list, client.InNamespace(s.namespace),
		client.MatchingLabels{"app": s.name + "-microservice"}))
	var pods []corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, list.Items[i])
		}
	}
	return pods
}

// change patches the Application's spec.
func (s scene) change(t *testing.T, spec string) {
	t.Helper()
	s.patch(t, s.named(), `{"spec":`+spec+`}`)
}

// patch sends a merge patch as a person.
func (s scene) patch(t *testing.T, obj client.Object, patch string) {
	t.Helper()
	obj.SetNamespace(s.namespace)
	tests.Merge(t, obj, patch)
}

// reconcile makes the operator reconcile the Application again, and waits until it has.
func (s scene) reconcile(t *testing.T) {
	t.Helper()
	tests.Reconcile(t, s.operator, s.named())
}

// settle waits until the Deployment is rolled out, Ready is up to date, and the operator has
// nothing left to do.
func (s scene) settle(t *testing.T) {
	t.Helper()
	tests.Settle(t, s.operator, s.named(), s.isAtRest)
}

func (s scene) named() *v1alpha1.Application {
	return &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
}

func (s scene) isAtRest(ctx context.Context) error {
	c, err := tests.Client()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: s.namespace, Name: s.name + "-deployment-microservice"}
	if err := operator.RolledOut(ctx, c, key); err != nil {
		return err
	}
	return s.isReady(ctx)
}

func (s scene) isReady(ctx context.Context) error {
	c, err := tests.Client()
	if err != nil {
		return err
	}
	var app v1alpha1.Application
	if err := c.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, &app); err != nil {
		return err
	}
	ready := condition(&app)
	return expect(ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == app.Generation,
		"generation %d is not ready: %+v", app.Generation, ready)
}

// waitForReason waits until the Application is not ready for this reason.
func (s scene) waitForReason(t *testing.T, reason string) metav1.Condition {
	t.Helper()
	var ready metav1.Condition
	eventually(t, func(context.Context) error {
		app := s.application(t)
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
func (s scene) requests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	counts := s.allRequests(t, since)
	delete(counts, "patch applications/status")
	return counts
}

func (s scene) allRequests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	return tests.Requests(t, since, s.namespace)
}

func get[T client.Object](t *testing.T, s scene, name string, obj T) T {
	t.Helper()
	require.NoError(t, human(t).Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, obj))
	return obj
}
