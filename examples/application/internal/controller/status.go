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

// reasonInvalidName is a reason of the Ready condition. Other reasons are those of package readiness for the
// Deployment and its pods, and the results of ensure.Reason.
const reasonInvalidName = "InvalidName"

// report writes the status of app after its children were ensured. A new problem of the Deployment is also
// an event.
func (r *Reconciler) report(
	ctx context.Context, app *v1alpha1.Application, deployment ensure.Result[*appsv1.Deployment], children []ensure.Result[client.Object],
) error {
	ready, err := r.readinessOf(ctx, deployment)
	if err != nil {
		return err
	}
	live := deployment.Live
	err = r.write(ctx, app, func(set status.Setter, is *v1alpha1.ApplicationStatus) {
		set.Child(&is.Conditions, v1alpha1.ReadyCondition, ready)
		is.Replicas = operator.ReadyReplicas(live)
		is.Selector = metav1.FormatLabelSelector(live.Spec.Selector)
		is.Children = statusChildren(children)
	})
	if err == nil {
		r.warnings.Record(app, v1alpha1.ReadyCondition, ready)
	}
	return err
}

// readinessOf returns the readiness of the Deployment, with the problem of a pod if there is one. Without
// a problem, the message of a rollout has no number of pods, so that each rollout takes few writes of the
// status. The pods of a Deployment that its controller has not looked at yet are those of an earlier
// template.
func (r *Reconciler) readinessOf(ctx context.Context, deployment ensure.Result[*appsv1.Deployment]) (readiness.Readiness, error) {
	child, live := deployment.Readiness(nil), deployment.Live
	if child.State != readiness.Ready && live.Status.ObservedGeneration == live.Generation {
		pods, err := readiness.Pods(ctx, r.client, live)
		if err != nil {
			return readiness.Readiness{}, err
		}
		child = deployment.Readiness(nil, pods...)
	}
	switch {
	case child.State == readiness.Ready:
	case child.Reason == string(readiness.InProgress):
		child.Message = fmt.Sprintf("the rollout of Deployment %q is not complete", live.Name)
	default:
		child.Message = fmt.Sprintf("Deployment %q: %s", live.Name, child.Message)
	}
	return child, nil
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

// fail reports err in the condition, and returns when to retry.
func (r *Reconciler) fail(ctx context.Context, app *v1alpha1.Application, err error) (reconcile.Result, error) {
	reportErr := r.notReady(ctx, app, ensure.Result[client.Object]{}.Readiness(err))
	return ensure.Retry(ctx, errors.Join(err, reportErr))
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
