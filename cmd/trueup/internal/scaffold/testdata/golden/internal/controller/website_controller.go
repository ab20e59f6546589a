package controller

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	webv1 "example.com/website/api/v1"
	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/predicates"
	"github.com/trueup-go/trueup/status"
)

// websiteFieldOwner names this operator in the managed fields of the children. To change it, see ensure.FormerFieldOwners.
const websiteFieldOwner = "website-operator"

// WebsiteReconciler reconciles a Website object
type WebsiteReconciler struct {
	client.Client
	Scheme *runtime.Scheme

	ensure *ensure.Ensurer
}

// SetupWithManager sets up a controller that reconciles a Website after a change of the Website or of its children.
func (r *WebsiteReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.ensure = ensure.New(mgr.GetClient(), mgr.GetAPIReader(), websiteFieldOwner)
	return ctrl.NewControllerManagedBy(mgr).
		For(&webv1.Website{}, builder.WithPredicates(predicates.Primary())).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Named("website").
		Complete(reconcile.AsReconciler(r.Client, r))
}

// +kubebuilder:rbac:groups=web.example.com,resources=websites,verbs=get;list;watch
// +kubebuilder:rbac:groups=web.example.com,resources=websites/status,verbs=patch
// +kubebuilder:rbac:groups=web.example.com,resources=websites/finalizers,verbs=update
// The API server may let only those who may delete an object change its owner references.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete

// Reconcile ensures the children of a Website and reports their state in a condition.
func (r *WebsiteReconciler) Reconcile(ctx context.Context, owner *webv1.Website) (ctrl.Result, error) {
	if owner.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector deletes the children
	}
	set := status.For(owner) // conditions get the generation of this owner

	deployment, err := ensure.Object(ctx, r.ensure, websiteDeployment(owner), ensure.ControlledBy(owner))

	reportErr := status.Patch(ctx, r.Client, owner, func(owner *webv1.Website) {
		set.Child(&owner.Status.Conditions, "Ready", deployment.Readiness(err))
	})
	return ensure.Retry(ctx, errors.Join(err, reportErr), deployment)
}

// websiteDeployment returns the fields that the operator decides. The API server sets the defaults.
func websiteDeployment(owner *webv1.Website) *appsv1.Deployment {
	labels := map[string]string{"app": owner.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: owner.Name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: owner.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name:  "website",
						Image: owner.Spec.Image,
					}},
				},
			},
		},
	}
}
