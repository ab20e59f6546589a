package controller

import (
	"context"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/status"
)

// report writes the state of the children into the status of app, with one request, or none if the
// status is the same already. ReverseWordsDeploymentNotReady is the opposite of the condition of
// the Deployment; Ready covers the Service, too. A condition that is good when False has no place
// in status.Setter.Ready, so both are written here.
func (r *Reconciler) report(ctx context.Context, app *v1alpha1.ReverseWordsApp, there stock, deployment, service verdict) error {
	set := status.For(app)
	return status.Patch(ctx, r.client, app, func(app *v1alpha1.ReverseWordsApp) {
		app.Status.ObservedGeneration = app.Generation
		app.Status.Children = there.children
		app.Status.AppPods = make([]string, len(there.pods)) // empty, but never absent
		for i := range there.pods {
			app.Status.AppPods[i] = there.pods[i].Name
		}

		conditions := &app.Status.Conditions
		ready := deployment
		if deployment.ready {
			set.False(conditions, v1alpha1.DeploymentNotReadyCondition, deployment.reason, deployment.message)
			ready = service
		} else {
			set.True(conditions, v1alpha1.DeploymentNotReadyCondition, deployment.reason, deployment.message)
		}
		if ready.ready {
			set.True(conditions, v1alpha1.ReadyCondition, deployment.reason, deployment.message)
		} else {
			set.False(conditions, v1alpha1.ReadyCondition, ready.reason, ready.message)
		}
	}, status.FieldOwner(Name))
}
