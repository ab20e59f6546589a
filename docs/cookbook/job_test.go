package cookbook_test

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status"
)

// An ImportReconciler runs one Job for each shop. The condition Imported records that the Job is complete.
type ImportReconciler struct {
	client.Client
	ensure *ensure.Ensurer
}

func (r *ImportReconciler) Reconcile(ctx context.Context, shop *Shop) (ctrl.Result, error) {
	if shop.DeletionTimestamp != nil || meta.IsStatusConditionTrue(shop.Status.Conditions, "Imported") {
		return ctrl.Result{}, nil
	}
	set := status.For(shop)
	job, err := ensure.Object(ctx, r.ensure, importOf(shop), ensure.ControlledBy(shop))
	reportErr := status.Patch(ctx, r.Client, shop, func(shop *Shop) {
		set.Child(&shop.Status.Conditions, "Imported", job.Readiness(err))
	})
	return ensure.Retry(ctx, errors.Join(err, reportErr), job)
}

func importOf(shop *Shop) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: shop.Name + "-import"},
		Spec: batchv1.JobSpec{
			TTLSecondsAfterFinished: new(int32(3600)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "import", Image: shop.Spec.Image, Args: []string{"import"}}},
			}},
		},
	}
}
