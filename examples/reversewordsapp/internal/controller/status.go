package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// reasons are the reasons of the conditions for those of package readiness. All others stay as they are.
var reasons = map[string]string{
	string(readiness.Ready):      "Available",
	string(readiness.InProgress): "Progressing",
}

func withOwnReason(child readiness.Readiness) readiness.Readiness {
	child.Reason = cmp.Or(reasons[child.Reason], child.Reason)
	return child
}

// explain returns the readiness of a child that was ensured, with a message that names the child.
func (r *Reconciler) explain(ctx context.Context, result ensure.Result[client.Object]) (readiness.Readiness, error) {
	child, err := result.Explain(ctx, r.client, nil)
	child.Message = fmt.Sprintf("%s %q: %s", operator.Kind(result.Live), result.Live.GetName(), child.Message)
	return child, err
}

// observe returns the live children of app and the active pods of the Deployment. If a child was not
// ensured, the children are those in the cache.
func (r *Reconciler) observe(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, results []ensure.Result[client.Object],
) (children []client.Object, pods []corev1.Pod, err error) {
	for _, result := range results {
		if result.Live != nil {
			children = append(children, result.Live)
		}
	}
	if len(children) < 2 {
		children, err = childrenOf(ctx, r.client, app)
	}
	for _, child := range children {
		if deployment, ok := child.(*appsv1.Deployment); ok {
			found, listErr := readiness.Pods(ctx, r.client, deployment)
			pods, err = append(pods, found...), errors.Join(err, listErr)
		}
	}
	return children, pods, err
}

// childrenOf returns the children of app, whatever the templates call them.
func childrenOf(ctx context.Context, reader client.Reader, app *v1alpha1.ReverseWordsApp) ([]client.Object, error) {
	return ensure.Children(ctx, reader, app, &appsv1.DeploymentList{}, &corev1.ServiceList{})
}

// areEnsured reports whether results are those of all children, after ensure.Set has succeeded.
func areEnsured(results []ensure.Result[client.Object]) bool {
	return len(results) > 0 && !slices.ContainsFunc(results, func(child ensure.Result[client.Object]) bool { return child.Live == nil })
}

// report writes the status of app from the results of ensure.Set; problem is the readiness of a child
// without a result. ReverseWordsDeploymentNotReady is True if the Deployment is not ready. Ready also
// depends on the Service, and on the folder with the templates. A new problem of the Deployment or of the
// folder is also an event; ensure records events for the errors of ensure.Set. status.Setter.Ready does not
// support conditions that are good when False, so report computes Ready itself.
func (r *Reconciler) report(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, problem readiness.Readiness, results ...ensure.Result[client.Object],
) error {
	children, pods, err := r.observe(ctx, app, results)
	if err != nil {
		return err
	}
	var judged readiness.Readiness
	var explainErr error
	deployment, service := problem, problem
	for _, result := range results {
		if result.Live == nil {
			continue
		}
		child, err := r.explain(ctx, result)
		explainErr = errors.Join(explainErr, err)
		if _, ok := result.Live.(*appsv1.Deployment); ok {
			judged, deployment = child, withOwnReason(child)
		} else {
			service = withOwnReason(child)
		}
	}
	ready := deployment
	if deployment.State == readiness.Ready && service.State != readiness.Ready {
		ready = service
	}
	if areEnsured(results) {
		ready, judged = operator.CheckTemplates(r.templates, ready), operator.CheckTemplates(r.templates, judged)
	}
	set := status.For(app)
	err = status.Patch(ctx, r.client, app, func(app *v1alpha1.ReverseWordsApp) {
		app.Status.ObservedGeneration = app.Generation
		app.Status.Replicas, app.Status.Selector, app.Status.Children = new(int32(0)), "", nil
		for _, child := range children {
			if live, ok := child.(*appsv1.Deployment); ok {
				app.Status.Replicas = new(min(live.Status.ReadyReplicas, ptr.Deref(live.Spec.Replicas, 1)))
				app.Status.Selector = metav1.FormatLabelSelector(live.Spec.Selector)
			}
			app.Status.Children = append(app.Status.Children,
				v1alpha1.Child{Kind: operator.Kind(child), Name: child.GetName(), UID: child.GetUID()})
		}
		app.Status.AppPods = []string{} // not nil: appPods is [] without pods
		for _, pod := range pods {
			app.Status.AppPods = append(app.Status.AppPods, pod.Name)
		}

		conditions := &app.Status.Conditions
		if deployment.State == readiness.Ready {
			set.False(conditions, v1alpha1.DeploymentNotReadyCondition, deployment.Reason, deployment.Message)
		} else {
			set.True(conditions, v1alpha1.DeploymentNotReadyCondition, deployment.Reason, deployment.Message)
		}
		set.Child(conditions, v1alpha1.ReadyCondition, ready)
	}, status.FieldOwner(Name))
	err = errors.Join(err, explainErr)
	if err == nil {
		r.warnings.Record(app, v1alpha1.ReadyCondition, judged)
	}
	return err
}
