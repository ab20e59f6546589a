// Package controller reconciles Hellos.
package controller

import (
	"context"
	"errors"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/hello/api/v1"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status"
)

// IndexNamespace has a ConfigMap with the greeting of each Hello in the cluster, so that everybody finds them.
const IndexNamespace = "kube-public"

// Reconciler reconciles Hellos.
type Reconciler struct {
	client.Client
	Ensure *ensure.Ensurer
}

// SetupWithManager sets up a controller that reconciles a Hello after a change of the Hello or of its objects.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.Hello{}, builder.WithPredicates(predicates.Primary())).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
		Owns(&corev1.Service{}, builder.WithPredicates(predicates.Owned())).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(helloOf), builder.WithPredicates(predicates.Owned())).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.Client, r))
}

// +kubebuilder:rbac:groups=hello.example.com,resources=hellos,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=hello.example.com,resources=hellos/status,verbs=patch
// +kubebuilder:rbac:groups=hello.example.com,resources=hellos/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",namespace=kube-public,resources=configmaps,verbs=get;list;watch;create;patch;delete

// Reconcile ensures the Deployment, the Service and the greeting of hello, and reports their state in conditions.
func (r *Reconciler) Reconcile(ctx context.Context, hello *v1.Hello) (ctrl.Result, error) {
	set := status.For(hello)

	// The garbage collector does not delete the greeting: no owner reference can point to another namespace.
	deletion, err := finalizer.Handle(ctx, r.Client, hello, finalizer.Step{
		Name: "hello.example.com/greeting",
		Cleanup: func(ctx context.Context) error {
			_, err := ensure.Absent(ctx, r.Ensure, greetingFor(hello))
			return err // an accepted deletion is enough
		},
	})
	if err != nil {
		reportErr := status.Patch(ctx, r.Client, hello, func(hello *v1.Hello) {
			set.False(&hello.Status.Conditions, "Ready", ensure.Reason(err), err.Error())
		})
		return ensure.Retry(ctx, errors.Join(err, reportErr))
	}
	if deletion.Done {
		return ctrl.Result{}, nil // the garbage collector deletes the Deployment and the Service
	}

	desired := deploymentFor(hello)
	children, childErr := ensure.Set(ctx, r.Ensure, hello, []client.Object{desired, serviceFor(desired)})
	greeting, greetingErr := ensure.Object(ctx, r.Ensure, greetingFor(hello))

	reportErr := status.Patch(ctx, r.Client, hello, func(hello *v1.Hello) {
		conditions := &hello.Status.Conditions
		set.Child(conditions, "Deployed", children.Readiness(childErr))
		if greetingErr != nil {
			set.False(conditions, "Listed", ensure.Reason(greetingErr), greetingErr.Error())
		} else {
			set.True(conditions, "Listed", "Listed", "the index has the greeting")
		}
		set.Ready(conditions, "Listed", "Deployed")
	})
	return ensure.Retry(ctx, errors.Join(childErr, greetingErr, reportErr), children, greeting)
}

// deploymentFor returns the fields that the operator decides. The API server sets the defaults.
func deploymentFor(hello *v1.Hello) *appsv1.Deployment {
	labels := map[string]string{"hello.example.com/name": hello.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: hello.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: hello.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  "web",
					Image: "docker.io/hashicorp/http-echo:1.0.0",
					Args:  []string{"-text=" + strings.ReplaceAll(hello.Spec.Message, "$", "$$")}, // Kubernetes expands $(NAME)
				}}},
			},
		},
	}
}

// serviceFor returns the Service of a Deployment. The web server listens on port 5678.
func serviceFor(deployment *appsv1.Deployment) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: deployment.Name},
		Spec:       corev1.ServiceSpec{Selector: deployment.Spec.Selector.MatchLabels, Ports: []corev1.ServicePort{{Port: 5678}}},
	}
}

func greetingFor(hello *v1.Hello) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: IndexNamespace, Name: hello.Namespace + "." + hello.Name},
		Data:       map[string]string{"message": hello.Spec.Message},
	}
}

// helloOf returns the Hello of a greeting. For another ConfigMap, it returns a Hello that does not exist.
func helloOf(_ context.Context, greeting client.Object) []reconcile.Request {
	namespace, name, _ := strings.Cut(greeting.GetName(), ".")
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}}
}
