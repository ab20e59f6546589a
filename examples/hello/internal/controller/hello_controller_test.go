package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/examples/hello/api/v1"
	"github.com/trueup-go/trueup/examples/hello/internal/controller"
)

var (
	helloKey    = client.ObjectKey{Namespace: "default", Name: "world"} // of the Deployment and the Service, too
	greetingKey = client.ObjectKey{Namespace: controller.IndexNamespace, Name: "default.world"}
)

// newClient returns a client of a fake API server that has one Hello.
func newClient(t *testing.T) *ensuretest.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1.AddToScheme(scheme))
	return ensuretest.NewClient(scheme, &v1.Hello{
		ObjectMeta: metav1.ObjectMeta{Namespace: helloKey.Namespace, Name: helloKey.Name},
		Spec:       v1.HelloSpec{Message: "Hello, world!", Replicas: new(int32(2))},
	})
}

// newPass returns a function that reconciles the Hello once, with a new reconciler as after a restart.
func newPass(c client.Client, server client.Reader) func(context.Context) error {
	r := &controller.Reconciler{Client: c, Ensure: ensure.New(c, server, "hello-operator")}
	reconciler := reconcile.AsReconciler(c, r)
	return func(ctx context.Context) error {
		_, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: helloKey})
		return err
	}
}

// get reads an object from the fake API server.
func get[T client.Object](t *testing.T, c client.Client, key client.ObjectKey, obj T) T {
	t.Helper()
	require.NoError(t, c.Get(t.Context(), key, obj))
	return obj
}

// requireCondition requires a condition of the Hello, and returns its message.
func requireCondition(t *testing.T, c client.Client, conditionType string, want metav1.ConditionStatus, reason string) string {
	t.Helper()
	condition := meta.FindStatusCondition(get(t, c, helloKey, &v1.Hello{}).Status.Conditions, conditionType)
	require.NotNil(t, condition, conditionType)
	require.Equal(t, want, condition.Status, condition)
	require.Equal(t, reason, condition.Reason, condition)
	return condition.Message
}

// Converge waits for a second after a write. The clock of synctest is fake, so the tests do not wait.

func TestConverges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		pass := newPass(c, c.APIReader())

		// The finalizer, three objects and the status; from then on, no request at all.
		require.Len(t, ensuretest.Converge(t, c, pass), 5)
		require.Empty(t, ensuretest.Converge(t, c, pass))

		deployment := get(t, c, helloKey, &appsv1.Deployment{})
		require.Equal(t, int32(2), *deployment.Spec.Replicas)
		require.Equal(t, []string{"-text=Hello, world!"}, deployment.Spec.Template.Spec.Containers[0].Args)
		require.Equal(t, deployment.Spec.Template.Labels, get(t, c, helloKey, &corev1.Service{}).Spec.Selector)
		require.Equal(t, "Hello, world!", get(t, c, greetingKey, &corev1.ConfigMap{}).Data["message"])
		requireCondition(t, c, "Listed", metav1.ConditionTrue, "Listed")
		requireCondition(t, c, "Ready", metav1.ConditionFalse, "InProgress")

		// In a cluster, the Deployment's controller writes the status.
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
		}
		require.NoError(t, c.Status().Update(t.Context(), deployment))
		ensuretest.Converge(t, c, pass)
		requireCondition(t, c, "Deployed", metav1.ConditionTrue, "Ready")
		requireCondition(t, c, "Ready", metav1.ConditionTrue, "Ready")
	})
}

// TestMessage sets a message with a reference that Kubernetes would expand in the arguments of a container.
func TestMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		pass := newPass(c, c.APIReader())
		hello := get(t, c, helloKey, &v1.Hello{})
		hello.Spec.Message = "$(HOSTNAME) costs $5"
		require.NoError(t, c.Update(t.Context(), hello))
		ensuretest.Converge(t, c, pass)

		container := get(t, c, helloKey, &appsv1.Deployment{}).Spec.Template.Spec.Containers[0]
		require.Equal(t, []string{"-text=$$(HOSTNAME) costs $$5"}, container.Args)
		require.Equal(t, "$(HOSTNAME) costs $5", get(t, c, greetingKey, &corev1.ConfigMap{}).Data["message"])
	})
}

func TestRevertsEdits(t *testing.T) {
	for _, test := range []struct {
		name string
		key  client.ObjectKey
		obj  client.Object
		edit func(client.Object)
		want string
	}{
		{
			name: "Deployment", key: helloKey, obj: &appsv1.Deployment{},
			edit: func(obj client.Object) { obj.(*appsv1.Deployment).Spec.Replicas = new(int32(7)) },
			want: "apply Deployment default/world: spec.replicas 7 -> 2",
		},
		{
			name: "Service", key: helloKey, obj: &corev1.Service{},
			edit: func(obj client.Object) { obj.(*corev1.Service).Spec.Selector["hello.example.com/name"] = "mars" },
			want: "apply Service default/world: spec.selector[hello.example.com/name]",
		},
		{
			name: "greeting", key: greetingKey, obj: &corev1.ConfigMap{},
			edit: func(obj client.Object) { obj.(*corev1.ConfigMap).Data["message"] = "Hello, Mars!" },
			want: "apply ConfigMap kube-public/default.world: data[message]",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t)
				pass := newPass(c, c.APIReader())
				ensuretest.Converge(t, c, pass)

				obj := get(t, c, test.key, test.obj)
				test.edit(obj)
				require.NoError(t, c.Update(t.Context(), obj))

				requests := ensuretest.Converge(t, c, pass)
				require.Len(t, requests, 1)
				require.Equal(t, test.want, requests[0].String())
			})
		})
	}
}

func TestKeepsFieldsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		pass := newPass(c, c.APIReader())
		ensuretest.Converge(t, c, pass)

		deployment := get(t, c, helloKey, &appsv1.Deployment{})
		deployment.Labels = map[string]string{"team": "blue"}
		template := &deployment.Spec.Template.Spec
		template.Containers = append(template.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
		require.NoError(t, c.Update(t.Context(), deployment))
		require.LessOrEqual(t, len(ensuretest.Converge(t, c, pass)), 1)

		hello := get(t, c, helloKey, &v1.Hello{})
		hello.Spec.Message = "Hello, Mars!"
		require.NoError(t, c.Update(t.Context(), hello))
		ensuretest.Converge(t, c, pass)

		deployment = get(t, c, helloKey, &appsv1.Deployment{})
		require.Equal(t, "blue", deployment.Labels["team"])
		require.Len(t, deployment.Spec.Template.Spec.Containers, 2)
		require.Equal(t, []string{"-text=Hello, Mars!"}, deployment.Spec.Template.Spec.Containers[0].Args)
		require.Equal(t, "sidecar", deployment.Spec.Template.Spec.Containers[1].Name)
	})
}

func TestDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		pass := newPass(c, c.APIReader())
		ensuretest.Converge(t, c, pass)
		get(t, c, greetingKey, &corev1.ConfigMap{})

		hello := get(t, c, helloKey, &v1.Hello{})
		require.NoError(t, c.Delete(t.Context(), hello))
		get(t, c, helloKey, &v1.Hello{}) // the finalizer keeps it

		ensuretest.Converge(t, c, pass)
		require.True(t, apierrors.IsNotFound(c.Get(t.Context(), greetingKey, &corev1.ConfigMap{})))
		require.True(t, apierrors.IsNotFound(c.Get(t.Context(), helloKey, &v1.Hello{})))
	})
}

func TestReportsRefusal(t *testing.T) {
	for _, test := range []struct{ kind, condition string }{
		{kind: "Deployment", condition: "Deployed"},
		{kind: "Service", condition: "Deployed"},
		{kind: "ConfigMap", condition: "Listed"},
	} {
		t.Run(test.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t)
				ensuretest.Converge(t, c, newPass(refusing(c, test.kind), c.APIReader()))
				require.Contains(t, requireCondition(t, c, test.condition, metav1.ConditionFalse, "Forbidden"), "exceeded quota")
				require.Contains(t, requireCondition(t, c, "Ready", metav1.ConditionFalse, "Forbidden"), "exceeded quota")

				ensuretest.Converge(t, c, newPass(c, c.APIReader())) // the quota was raised, and the operator restarted
				requireCondition(t, c, "Deployed", metav1.ConditionFalse, "InProgress")
				requireCondition(t, c, "Listed", metav1.ConditionTrue, "Listed")
			})
		})
	}
}

func TestReportsWhyDeletionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		ensuretest.Converge(t, c, newPass(c, c.APIReader()))
		require.NoError(t, c.Delete(t.Context(), get(t, c, helloKey, &v1.Hello{})))

		ensuretest.Converge(t, c, newPass(refusing(c, "ConfigMap"), c.APIReader()))
		require.Contains(t, requireCondition(t, c, "Ready", metav1.ConditionFalse, "Forbidden"), "cannot delete ConfigMap")
		get(t, c, greetingKey, &corev1.ConfigMap{})

		ensuretest.Converge(t, c, newPass(c, c.APIReader()))
		require.True(t, apierrors.IsNotFound(c.Get(t.Context(), helloKey, &v1.Hello{})))
	})
}

// refusing returns a client whose writes of one kind are refused.
func refusing(c *ensuretest.Client, kind string) client.Client {
	refusal := func(obj client.Object) error {
		if gvk, err := c.GroupVersionKindFor(obj); err != nil || gvk.Kind != kind {
			return err
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, obj.GetName(), errors.New("exceeded quota"))
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := refusal(obj); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := refusal(obj); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
	})
}
