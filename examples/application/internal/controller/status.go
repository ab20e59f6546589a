package controller

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// reasonInvalidName is a reason of the Ready condition. Other reasons are those of package readiness for the
// Deployment and its pods, and the results of ensure.Reason.
const reasonInvalidName = "InvalidName"

// report writes the status of app. A new problem of the Deployment is also an event; ensure records events
// for the errors of ensure.Set. After an error, only the condition changes: the pass does not know all
// children.
func (r *Reconciler) report(
	ctx context.Context, app *v1alpha1.Application, deployment ensure.Result[*appsv1.Deployment], results ensure.Results, failure error,
) error {
	if failure != nil {
		return r.notReady(ctx, app, results.Readiness(failure))
	}
	ready, explainErr := r.readinessOf(ctx, deployment)
	ready = operator.CheckTemplates(r.templates, ready)
	live := deployment.Live
	err := r.write(ctx, app, func(set status.Setter, is *v1alpha1.ApplicationStatus) {
		set.Child(&is.Conditions, v1alpha1.ReadyCondition, ready)
		is.Replicas = new(min(live.Status.ReadyReplicas, ptr.Deref(live.Spec.Replicas, 1)))
		is.Selector = metav1.FormatLabelSelector(live.Spec.Selector)
		is.Children = statusChildren(results.Children)
	})
	err = errors.Join(err, explainErr)
	if err == nil {
		r.warnings.Record(app, v1alpha1.ReadyCondition, ready)
	}
	return err
}

// readinessOf returns the readiness of the Deployment, with the problem of a pod if there is one. Without
// a problem, the message of a rollout has no number of pods, so that each rollout takes few writes of the
// status.
func (r *Reconciler) readinessOf(ctx context.Context, deployment ensure.Result[*appsv1.Deployment]) (readiness.Readiness, error) {
	child, err := deployment.Explain(ctx, r.client, nil)
	switch name := deployment.Live.Name; {
	case child.State == readiness.Ready:
	case child.Reason == string(readiness.InProgress):
		child.Message = fmt.Sprintf("the rollout of Deployment %q is not complete", name)
	default:
		child.Message = fmt.Sprintf("Deployment %q: %s", name, child.Message)
	}
	return child, err
}

// write writes the fields of app's status that change sets, and the generation.
func (r *Reconciler) write(
	ctx context.Context, app *v1alpha1.Application, change func(set status.Setter, is *v1alpha1.ApplicationStatus),
) error {
	set := status.For(app)
	return status.Patch(ctx, r.client, app, func(app *v1alpha1.Application) {
		change(set, &app.Status)
		app.Status.ObservedGeneration = app.Generation
	}, status.FieldOwner(Name))
}

// notReady writes the condition, and leaves the rest of the status as it is: a pass that failed does not
// know all children.
func (r *Reconciler) notReady(ctx context.Context, app *v1alpha1.Application, problem readiness.Readiness) error {
	return r.write(ctx, app, func(set status.Setter, is *v1alpha1.ApplicationStatus) {
		set.Child(&is.Conditions, v1alpha1.ReadyCondition, problem)
	})
}

// reject reports a mistake in app or in a template, and leaves the children unchanged. The error is
// terminal: only a change of app or of the templates helps.
func (r *Reconciler) reject(ctx context.Context, app *v1alpha1.Application, reason string, err error) (reconcile.Result, error) {
	problem := readiness.Readiness{State: readiness.Failed, Reason: reason, Message: err.Error()}
	reportErr := r.notReady(ctx, app, problem)
	if reportErr == nil {
		r.warnings.Record(app, v1alpha1.ReadyCondition, problem)
	}
	return ensure.Retry(ctx, errors.Join(reconcile.TerminalError(err), reportErr))
}

func statusChildren(children []ensure.Result[client.Object]) []v1alpha1.Child {
	names := make([]v1alpha1.Child, len(children))
	for i, child := range children {
		live := child.Live
		names[i] = v1alpha1.Child{Kind: operator.Kind(live), Name: live.GetName(), UID: live.GetUID()}
	}
	return names
}
