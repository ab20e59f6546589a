package controller

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
)

// report writes into the status of app how it stands, with one request, or none if
// the status says so already. children are the live objects when all are in place; a
// pass that failed half-way has not seen them all and names none, which leaves the
// list as it is.
func (r *Reconciler) report(
	ctx context.Context, app *v1alpha1.Application, ready metav1.Condition, children ...client.Object,
) error {
	before := app.DeepCopy()
	ready.Type, ready.ObservedGeneration = v1alpha1.ReadyCondition, app.Generation
	meta.SetStatusCondition(&app.Status.Conditions, ready)
	app.Status.ObservedGeneration = app.Generation
	if len(children) > 0 {
		app.Status.Children = named(children)
	}
	if equality.Semantic.DeepEqual(before.Status, app.Status) {
		return nil
	}
	// The patch holds the resourceVersion: a merge patch replaces the whole list of
	// conditions, which is right only if nobody else has changed it meanwhile.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.client.Status().Patch(ctx, app, patch, client.FieldOwner(Name)))
}

// fail reports why a child is not as it should be, and says when to try again. What
// the controller will not log, because it takes a person to mend it, is logged here.
func (r *Reconciler) fail(ctx context.Context, app *v1alpha1.Application, err error) (reconcile.Result, error) {
	reason := ensure.Reason(err)
	if reportErr := r.report(ctx, app, notReady(reason, err.Error())); reportErr != nil {
		return ensure.Retry(errors.Join(err, reportErr))
	}
	result, retryErr := ensure.Retry(err)
	if retryErr == nil {
		log.FromContext(ctx).Info("a child is not as it should be", "reason", reason, "message", err.Error())
	}
	return result, retryErr
}

// reject reports what is wrong with app itself. Trying again soon would not help.
func (r *Reconciler) reject(ctx context.Context, app *v1alpha1.Application, err error) (reconcile.Result, error) {
	if reportErr := r.report(ctx, app, notReady(reasonInvalidName, err.Error())); reportErr != nil {
		return ensure.Retry(reportErr)
	}
	return reconcile.Result{RequeueAfter: retryRejected}, nil
}

func named(children []client.Object) []v1alpha1.Child {
	names := make([]v1alpha1.Child, len(children))
	for i, child := range children {
		names[i] = v1alpha1.Child{Kind: operator.Kind(child), Name: child.GetName(), UID: child.GetUID()}
	}
	return names
}
