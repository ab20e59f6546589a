package trueup_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
)

type Reconciler struct {
	client.Client
	ensure *ensure.Ensurer
}

func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Client = mgr.GetClient()
	r.ensure = ensure.New(mgr.GetClient(), mgr.GetAPIReader(), "website-operator")
	return ctrl.NewControllerManagedBy(mgr).
		For(&Website{}).
		Owns(&appsv1.Deployment{}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile makes the website's Deployment so and tells how it stands.
func (r *Reconciler) Reconcile(ctx context.Context, site *Website) (ctrl.Result, error) {
	if site.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector takes the Deployment along
	}
	before := site.DeepCopy()

	deployment, err := ensure.Object(ctx, r.ensure, deploymentFor(site), ensure.ControlledBy(site))

	meta.SetStatusCondition(&site.Status.Conditions, ready(site, deployment, err))
	if !equality.Semantic.DeepEqual(before.Status, site.Status) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Status().Patch(ctx, site, patch); err != nil {
			return ensure.Retry(err)
		}
	}
	return ensure.Retry(err)
}

// deploymentFor says what matters. The API server fills in the rest, and as long
// as all stays so nothing is sent.
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

// ready judges the live Deployment, and only one that is not older than our write.
func ready(site *Website, deployment ensure.Result[*appsv1.Deployment], err error) metav1.Condition {
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: site.Generation}
	switch live := deployment.Live; {
	case err != nil:
		condition.Reason, condition.Message = ensure.Reason(err), err.Error()
	case deployment.Stale, live.Status.ObservedGeneration < live.Generation,
		live.Status.UpdatedReplicas < site.Spec.Replicas, live.Status.AvailableReplicas < site.Spec.Replicas:
		condition.Reason = "Progressing"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, "Available"
	}
	return condition
}
