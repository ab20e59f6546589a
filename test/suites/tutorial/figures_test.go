package tutorial_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/hello/api/v1"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// An edit changes a field that the operator decides.
type edit struct {
	obj   client.Object
	patch string
	field func(client.Object) any
}

func edits() []edit {
	deployment := func(obj client.Object) *appsv1.DeploymentSpec { return &obj.(*appsv1.Deployment).Spec }
	service := func(obj client.Object) *corev1.ServiceSpec { return &obj.(*corev1.Service).Spec }
	return []edit{
		{
			obj:   &appsv1.Deployment{},
			patch: `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"example.com/other:1"}]`,
			field: func(obj client.Object) any { return deployment(obj).Template.Spec.Containers[0].Image },
		},
		{
			obj:   &appsv1.Deployment{},
			patch: `{"spec":{"replicas":7}}`,
			field: func(obj client.Object) any { return *deployment(obj).Replicas },
		},
		{
			obj:   &corev1.Service{},
			patch: `{"spec":{"selector":{"hello.example.com/name":"other"}}}`,
			field: func(obj client.Object) any { return maps.Clone(service(obj).Selector) },
		},
		{
			obj:   &corev1.Service{},
			patch: `[{"op":"replace","path":"/spec/ports/0/port","value":80}]`,
			field: func(obj client.Object) any {
				ports := make([]int32, len(service(obj).Ports))
				for i := range ports {
					ports[i] = service(obj).Ports[i].Port
				}
				return ports
			},
		},
	}
}

// revertedEdits returns the number of edits that the operator reverts.
func (x *trial) revertedEdits(t *testing.T) int {
	t.Helper()
	reverted := 0
	name := names()[0]
	for _, e := range edits() {
		before := e.field(mustRead(t, x, name, e.obj))
		x.patch(t, e.obj, e.patch)
		x.settle(t, e.obj.DeepCopyObject().(client.Object))
		if err := await.Until(t.Context(), grace, func(ctx context.Context) error {
			obj, err := read(ctx, x, name, e.obj.DeepCopyObject().(client.Object))
			return errors.Join(err, expect(cmp.Equal(before, e.field(obj)), "not reverted"))
		}); err == nil {
			reverted++
		}
	}
	return reverted
}

// lostAdditions returns the number of additions of others that are gone after the message of a Hello has changed.
func (x *trial) lostAdditions(t *testing.T) int {
	t.Helper()
	name := names()[1]
	deployment, service := mustRead(t, x, name, &appsv1.Deployment{}), mustRead(t, x, name, &corev1.Service{})
	x.patch(t, service, `{"metadata":{"labels":{"team":"blue"}}}`)
	x.patch(t, deployment, `{"metadata":{"labels":{"team":"blue"}}}`)
	x.patch(t, deployment, `[
		{"op":"add","path":"/spec/template/spec/containers/0/env","value":[{"name":"TEAM","value":"blue"}]},
		{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"sidecar","image":"example.com/sidecar:1"}}
	]`)
	x.settle(t, &appsv1.Deployment{})
	x.setMessage(t, name, "Hello, Mars!")
	x.settle(t, &appsv1.Deployment{})

	deployment, service = mustRead(t, x, name, &appsv1.Deployment{}), mustRead(t, x, name, &corev1.Service{})
	lost := 0
	for _, isKept := range []bool{
		deployment.Labels["team"] == "blue",
		len(deployment.Spec.Template.Spec.Containers[0].Env) == 1,
		len(deployment.Spec.Template.Spec.Containers) == 2,
		service.Labels["team"] == "blue",
	} {
		if !isKept {
			lost++
		}
	}
	return lost
}

// setMessage changes the message of a Hello, and waits until the Deployment has the new one.
func (x *trial) setMessage(t *testing.T, name, message string) {
	t.Helper()
	x.patch(t, &v1.Hello{ObjectMeta: x.object(name)}, `{"spec":{"message":"`+message+`"}}`)
	require.NoError(t, x.Await(t.Context(), limit, x.namespace, func(ctx context.Context) error {
		deployment, err := read(ctx, x, name, &appsv1.Deployment{})
		if err != nil {
			return err
		}
		containers := deployment.Spec.Template.Spec.Containers
		return expect(slices.Equal(containers[0].Args, []string{"-text=" + message}), "no new message")
	}))
}

// restart starts the operator again, and returns how many objects it writes until it has reconciled each Hello. The
// marker's objects do not count. Neither do several writes of one object: Kubernetes' controllers may still cause passes.
func (x *trial) restart(t *testing.T, filters ...cluster.Filter) int {
	t.Helper()
	require.NoError(t, x.process.Stop())
	mark := x.Mark()
	x.start(t)
	x.eventually(t, func(_ context.Context, name string) error {
		return expect(x.process.Reconciles("Hello", x.namespace, name) > 0, "not reconciled")
	})
	isCounted := func(r cluster.Request) bool { return r.Name != marker }
	requests, err := x.Requests(mark, append(filters, cluster.ByUser(x.user), cluster.Writes, isCounted)...)
	require.NoError(t, err)
	objects := map[string]bool{}
	for _, r := range requests {
		objects[r.Resource+"/"+r.Name] = true
	}
	return len(objects)
}

// about selects the requests about resources, as Resource or Resource/Subresource.
func about(resources ...string) cluster.Filter {
	return func(r cluster.Request) bool {
		return slices.Contains(resources, strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/"))
	}
}

// isTriggered reports whether an edit of a Service triggers a reconcile.
func (x *trial) isTriggered(t *testing.T) bool {
	t.Helper()
	x.awaitPods(t)
	x.settle(t, &appsv1.Deployment{})
	x.settle(t, &corev1.Service{})
	name := names()[2]
	before := x.process.Reconciles("Hello", x.namespace, name)
	x.patch(t, &corev1.Service{ObjectMeta: x.object(name)}, `{"spec":{"selector":{"hello.example.com/name":"other"}}}`)
	x.settle(t, &corev1.Service{})
	return x.process.Reconciles("Hello", x.namespace, name) > before
}

// readyAfterPods creates the Hellos, and returns how many are Ready once their pods are. The pods become ready
// when the operator has handled everything else.
func (x *trial) readyAfterPods(t *testing.T) int {
	t.Helper()
	require.NoError(t, x.Freeze(cluster.ControllerManager))
	x.create(t)
	x.eventually(t, func(ctx context.Context, name string) error {
		_, err := read(ctx, x, name, &corev1.Service{})
		return err
	})
	x.settle(t, &corev1.Service{})
	require.NoError(t, x.Resume(cluster.ControllerManager))
	x.awaitPods(t)
	x.settle(t, &corev1.Service{})
	return x.ready(t, count)
}

// readyTooEarly changes all messages, and returns how many Hellos are Ready before the Deployment's controller
// has noticed.
func (x *trial) readyTooEarly(t *testing.T) int {
	t.Helper()
	x.eventually(t, x.isReady)
	require.NoError(t, x.Freeze(cluster.ControllerManager))
	for _, name := range names() {
		x.setMessage(t, name, "Hello, Venus!")
	}
	x.settle(t, &appsv1.Deployment{})
	found := x.ready(t, 0)
	require.NoError(t, x.Resume(cluster.ControllerManager))
	x.awaitPods(t)
	return found
}

// lostFields returns the number of fields that a Hello loses when it gets its finalizer. The definition of the kind
// has a field that the operator's Go type does not have.
func (x *trial) lostFields(t *testing.T) int {
	t.Helper()
	const field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color"
	const definition = "customresourcedefinition/hellos.hello.example.com"
	kubectl(t, x.arena, "patch", definition, "--type=json", "-p", `[{"op":"add","path":"`+field+`","value":{"type":"string"}}]`)
	defer kubectl(t, x.arena, "patch", definition, "--type=json", "-p", `[{"op":"remove","path":"`+field+`"}]`)

	color := func(obj *unstructured.Unstructured) string {
		text, _, _ := unstructured.NestedString(obj.Object, "spec", "color")
		return text
	}
	newHello := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1.GroupVersion.String(), "kind": "Hello",
			"metadata": map[string]any{"namespace": x.namespace, "name": "colored"},
			"spec":     map[string]any{"message": "Hello, world!", "color": "blue"},
		}}
	}
	require.NoError(t, await.Until(t.Context(), limit, func(ctx context.Context) error {
		hello := newHello()
		err := x.admin.Create(ctx, hello, client.DryRunAll)
		return errors.Join(err, expect(color(hello) == "blue", "the API server does not know the field"))
	}))
	hello := newHello()
	require.NoError(t, x.admin.Create(t.Context(), hello))
	require.NoError(t, x.Await(t.Context(), limit, x.namespace, func(ctx context.Context) error {
		err := x.admin.Get(ctx, client.ObjectKeyFromObject(hello), hello)
		return errors.Join(err, expect(len(hello.GetFinalizers()) == 1, "no finalizer"))
	}))
	if color(hello) == "blue" {
		return 0
	}
	return 1
}

// passesInAMinute returns the number of passes in the first minute of a failure. The first pass fails at once.
func passesInAMinute(limiter workqueue.TypedRateLimiter[reconcile.Request]) int {
	passes := 0
	for elapsed := time.Duration(0); elapsed <= time.Minute; elapsed += limiter.When(reconcile.Request{}) {
		passes++
	}
	return passes
}

// limiters are controller-runtime's default and that of ensure.
func limiters() (byDefault, ours workqueue.TypedRateLimiter[reconcile.Request]) {
	return workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), ensure.RateLimiter()
}

// checkDefaults requires that the API server checks and completes a Hello as the markers of step 2 say.
func (a *arena) checkDefaults(t *testing.T) {
	t.Helper()
	namespace := a.Namespace(t)
	hello := &v1.Hello{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello"}}
	require.ErrorContains(t, a.admin.Create(t.Context(), hello, client.DryRunAll), "spec.message")
	hello.Spec.Message = "Hello, world!"
	require.NoError(t, a.admin.Create(t.Context(), hello, client.DryRunAll))
	require.Equal(t, int32(1), *hello.Spec.Replicas)
}
