package controller

import (
	"context"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/status"
)

// report writes the status of app. ReverseWordsDeploymentNotReady is True if the Deployment is not ready.
// Ready also depends on the Service. status.Setter.Ready does not support conditions that are good when
// False, so report computes Ready itself.
func (r *Reconciler) report(ctx context.Context, app *v1alpha1.ReverseWordsApp, live liveObjects, deployment, service verdict) error {
	set := status.For(app)
	return status.Patch(ctx, r.client, app, func(app *v1alpha1.ReverseWordsApp) {
		app.Status.ObservedGeneration = app.Generation
		app.Status.Children = live.children
		app.Status.AppPods = make([]string, len(live.pods)) // empty, not nil: appPods is [] without pods
		for i := range live.pods {
			app.Status.AppPods[i] = live.pods[i].Name
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
