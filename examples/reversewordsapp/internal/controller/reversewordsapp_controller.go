// Package controller reconciles ReverseWordsApps.
package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/finalizer"
)

// Name is the name of the operator, the field owner and the user agent.
const Name = "reverse-words-operator"

const (
	// workers is the number of concurrent reconciles.
	workers = 10
	// deletionPollInterval is how often the operator checks whether cached children are gone. Usually, the
	// event of the deletion triggers a reconcile before.
	deletionPollInterval = 30 * time.Second
	// serverPollInterval is how often the operator checks whether other children are gone. The cache does
	// not show them, so their deletion triggers no reconcile.
	serverPollInterval = 5 * time.Second
)

// Reconciler reconciles ReverseWordsApps.
type Reconciler struct {
	client    client.Client
	server    client.Reader
	ensure    *ensure.Ensurer
	templates *manifest.Folder
	events    events.EventRecorder
}

// New returns a reconciler that renders children from templates. It adds childLabels to every child.
func New(mgr ctrl.Manager, templates *manifest.Folder, childLabels map[string]string) (*Reconciler, error) {
	own := map[string]string{managedByLabel: Name}
	allLabels, err := operator.Stamp(own, childLabels, managedByLabel)
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:    mgr.GetClient(),
		server:    mgr.GetAPIReader(),
		ensure:    ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name, ensure.WithLabels(allLabels), ensure.WithRecorder(recorder)),
		templates: templates,
		events:    recorder,
	}, nil
}

// Reconcile needs these permissions. The operator adds and removes its finalizer by a patch. A patch that
// creates a child takes the verbs create and patch. The verb get is for reads from the server when the
// cache may be stale.
//
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps/status,verbs=patch
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile ensures the Deployment and the Service of app, and reports their state in conditions. Once
// the Deployment is ready, Reconcile deletes children with former names. If app is being deleted,
// Reconcile deletes all children instead.
func (r *Reconciler) Reconcile(ctx context.Context, app *v1alpha1.ReverseWordsApp) (reconcile.Result, error) {
	deletion, err := finalizer.Handle(ctx, r.client, app, finalizer.Step{
		Name:    v1alpha1.Finalizer,
		Cleanup: func(ctx context.Context) error { return r.cleanUp(ctx, app) },
	})
	if err != nil || deletion.Done {
		return r.finish(ctx, app, deletion, err)
	}
	desired, reason, err := r.desired(app)
	if err != nil {
		return r.reject(ctx, app, reason, err)
	}

	results, err := ensure.Set(ctx, r.ensure, app, desired.inOrder(),
		ensure.PruneOnceReady(&appsv1.Deployment{}, &corev1.Service{}))
	return r.reportChildren(ctx, app, ensure.ResultOf(results, desired.deployment), ensure.ResultOf(results, desired.service), err)
}

// desired returns the desired children of app, or an error and the reason for the conditions.
func (r *Reconciler) desired(app *v1alpha1.ReverseWordsApp) (desired *children, reason string, err error) {
	desired, err = childrenFor(app, r.templates.Renderer())
	if err != nil {
		return nil, operator.ReasonInvalidTemplate, err
	}
	return desired, reasonInvalidName, desired.checkNames(app.Name)
}

// reportChildren reports the state of both children, and returns when to retry.
func (r *Reconciler) reportChildren(
	ctx context.Context, app *v1alpha1.ReverseWordsApp,
	deployment ensure.Result[*appsv1.Deployment], service ensure.Result[*corev1.Service], err error,
) (reconcile.Result, error) {
	live, statusErr := r.observe(ctx, app, deployment.Live, service.Live)
	if statusErr == nil {
		statusErr = r.report(ctx, app, live, judgeDeployment(deployment, err, live.pods), judgeService(service, err))
	}
	return ensure.Retry(ctx, errors.Join(err, statusErr), deployment, service)
}

// cleanUp deletes all children, and waits until they are gone: the Deployment with its pods, and the
// Service with its load balancer. It finds the children by their owner reference, since the templates
// may have changed their names. The garbage collector would delete them only after app is gone.
func (r *Reconciler) cleanUp(ctx context.Context, app *v1alpha1.ReverseWordsApp) error {
	children, err := r.cachedChildren(ctx, app)
	if err != nil {
		return err
	}
	if err := r.remove(ctx, app, children, deletionPollInterval); err != nil {
		return err
	}
	// The cache shows no children, but may be stale.
	if children, err = childrenOf(ctx, r.server, app); err != nil {
		return err
	}
	return r.remove(ctx, app, children, serverPollInterval)
}

// remove deletes children, and returns a finalizer.NotDone if some of them still exist.
func (r *Reconciler) remove(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, children []client.Object, wait time.Duration,
) error {
	var remaining []string
	var errs []error
	for _, child := range children {
		description := fmt.Sprintf("%s %q", operator.Kind(child), child.GetName())
		policy := metav1.DeletePropagationBackground
		if _, ok := child.(*appsv1.Deployment); ok {
			description, policy = description+" and its pods", metav1.DeletePropagationForeground
		}
		result, err := ensure.Absent(ctx, r.ensure, child, ensure.ControlledBy(app), ensure.Propagation(policy))
		if errs = append(errs, err); result.Operation == ensure.Deleting {
			remaining = append(remaining, description)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(remaining) > 0 {
		return finalizer.NotDone(wait, "still there: "+strings.Join(remaining, ", "))
	}
	return nil
}

// finish reports why app is not deleted yet, or why the finalizer could not be added or removed.
func (r *Reconciler) finish(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, deletion finalizer.Result, err error,
) (reconcile.Result, error) {
	var state verdict
	switch {
	case apierrors.IsConflict(err), err == nil && len(app.Finalizers) == 0:
		return ensure.Retry(ctx, err) // the cached copy is stale, or app is gone
	case err != nil:
		state = notReady(ensure.Reason(err), err.Error())
	case deletion.Reason != "":
		state = notReady(reasonTerminating, deletion.Reason)
	default:
		state = notReady(reasonTerminating, "cleanup is complete; somebody else's finalizer is left")
	}
	live, statusErr := r.observe(ctx, app, nil, nil)
	if statusErr == nil {
		statusErr = r.report(ctx, app, live, state, state)
	}
	if err := errors.Join(err, statusErr); err != nil {
		return ensure.Retry(ctx, err)
	}
	return reconcile.Result{RequeueAfter: deletion.After}, nil
}

// reject reports a mistake in app or in a template, and leaves the children unchanged. The error is
// terminal: only a change of app or of the templates helps.
func (r *Reconciler) reject(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, reason string, err error,
) (reconcile.Result, error) {
	live, observeErr := r.observe(ctx, app, nil, nil)
	if observeErr != nil {
		return ensure.Retry(ctx, observeErr)
	}
	state := notReady(reason, err.Error())
	isNews := operator.IsNews(app.Status.Conditions, v1alpha1.ReadyCondition, state.message)
	reportErr := r.report(ctx, app, live, state, state)
	if isNews && reportErr == nil {
		operator.Warn(r.events, app, reason, err.Error())
	}
	return ensure.Retry(ctx, errors.Join(reconcile.TerminalError(err), reportErr))
}
