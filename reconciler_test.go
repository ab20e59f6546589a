package trueup_test

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status"
)

// Reconciler reconciles Websites.
type Reconciler struct {
	client.Client
	ensure *ensure.Ensurer
}

// New returns a reconciler with mgr.GetClient() and mgr.GetAPIReader().
func New(c client.Client, server client.Reader) *Reconciler {
	return &Reconciler{Client: c, ensure: ensure.New(c, server, "website-operator")}
}

// SetupWithManager sets up a controller that reconciles a Website after a change of the
// Website or of its Deployment.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Website{}, builder.WithPredicates(predicates.Primary())).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.Client, r))
}

// +kubebuilder:rbac:groups=web.example.com,resources=websites,verbs=get;list;watch
// +kubebuilder:rbac:groups=web.example.com,resources=websites/status,verbs=patch
// +kubebuilder:rbac:groups=web.example.com,resources=websites/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch

// Reconcile ensures the website's Deployment and reports its state in a condition.
func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
	if site.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector deletes the Deployment
	}
	set := status.For(site) // conditions get the generation of this site

	deployment, err := ensure.Object(ctx, r.ensure, deploymentFor(site), ensure.ControlledBy(site))

	reportErr := status.Patch(ctx, r.Client, site, func(site *Website) {
		set.Child(&site.Status.Conditions, "Ready", deployment.Readiness(err))
	})
	return ensure.Retry(ctx, errors.Join(err, reportErr), deployment)
}

// deploymentFor returns the fields that the operator decides. The API server sets
// the defaults.
func deploymentFor(site *Website) *appsv1.Deployment {
	labels := map[string]string{"app": site.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: site.Name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &site.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "web", Image: site.Spec.Image}},
				},
			},
		},
	}
}
