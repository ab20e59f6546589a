package controller

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// reasonInvalidName is a reason of the Ready condition. Other reasons are the states of the Deployment and
// the results of ensure.Reason.
const reasonInvalidName = "InvalidName"

// A readinessSetter sets the Ready condition.
type readinessSetter func(set status.Setter, conditions *[]metav1.Condition)

// deploymentReadiness sets the condition from the state of the Deployment. During a rollout, the message
// has no number of pods, so that each rollout takes two writes of the status.
func deploymentReadiness(deployment ensure.Result[*appsv1.Deployment]) readinessSetter {
	child := deployment.Readiness(nil)
	if child.State == readiness.InProgress {
		return notReady(string(readiness.InProgress), fmt.Sprintf("the rollout of Deployment %q is not complete", deployment.Live.Name))
	}
	return func(set status.Setter, conditions *[]metav1.Condition) {
		set.Child(conditions, v1alpha1.ReadyCondition, child)
	}
}

func notReady(reason, message string) readinessSetter {
	return func(set status.Setter, conditions *[]metav1.Condition) {
		set.False(conditions, v1alpha1.ReadyCondition, reason, message)
	}
}

// report writes the status of app. Without children, the list of children in the status stays as it is:
// a pass that failed does not know all children.
func (r *Reconciler) report(
	ctx context.Context, app *v1alpha1.Application, setReady readinessSetter, children ...ensure.Result[client.Object],
) error {
	set := status.For(app)
	return status.Patch(ctx, r.client, app, func(app *v1alpha1.Application) {
		setReady(set, &app.Status.Conditions)
		app.Status.ObservedGeneration = app.Generation
		if len(children) > 0 {
			app.Status.Children = statusChildren(children)
		}
	}, status.FieldOwner(Name))
}

// fail reports err in the condition, and returns when to retry.
func (r *Reconciler) fail(ctx context.Context, app *v1alpha1.Application, err error) (reconcile.Result, error) {
	reportErr := r.report(ctx, app, notReady(ensure.Reason(err), err.Error()))
	return ensure.Retry(ctx, errors.Join(err, reportErr))
}

// reject reports a mistake in app or in a template, and leaves the children unchanged. The error is
// terminal: only a change of app or of the templates helps.
func (r *Reconciler) reject(ctx context.Context, app *v1alpha1.Application, reason string, err error) (reconcile.Result, error) {
	isNews := operator.IsNews(app.Status.Conditions, v1alpha1.ReadyCondition, err.Error())
	reportErr := r.report(ctx, app, notReady(reason, err.Error()))
	if isNews && reportErr == nil {
		operator.Warn(r.events, app, reason, err.Error())
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
