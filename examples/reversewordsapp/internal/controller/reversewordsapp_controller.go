// Package controller reconciles ReverseWordsApps.
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// Name is the name of the operator, the field owner and the user agent.
const Name = "reverse-words-operator"

// pollInterval is how often the operator checks whether the children are gone. Usually, the event of the
// deletion triggers a reconcile before, but the cache does not show every child.
const pollInterval = 5 * time.Second

// Reconciler reconciles ReverseWordsApps.
type Reconciler struct {
	client    client.Client
	server    client.Reader
	ensure    *ensure.Ensurer
	templates *manifest.Folder
	warnings  *status.Warnings
}

// New returns a reconciler that renders children from templates. It adds childLabels to every child.
func New(mgr ctrl.Manager, templates *manifest.Folder, childLabels map[string]string) (*Reconciler, error) {
	labels, err := operator.Stamp(Name, childLabels)
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:    mgr.GetClient(),
		server:    mgr.GetAPIReader(),
		ensure:    ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name, ensure.WithLabels(labels), ensure.WithRecorder(recorder)),
		templates: templates,
		warnings:  status.NewWarnings(recorder),
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
	desired, err := childrenFor(app, r.templates.Renderer())
	if err != nil {
		return r.reject(ctx, app, operator.ReasonInvalidTemplate, err)
	}
	if err := operator.CheckNames(app.Name, desired.deployment.Name, desired.service.Name); err != nil {
		return r.reject(ctx, app, "InvalidName", err)
	}

	results, err := ensure.Set(ctx, r.ensure, app, []client.Object{desired.deployment, desired.service},
		ensure.Prune(&appsv1.Deployment{}, &corev1.Service{}).WhenReady())
	statusErr := r.report(ctx, app, ensure.Result[client.Object]{}.Readiness(err), results.Children...)
	return ensure.Retry(ctx, errors.Join(err, statusErr, operator.TemplatesErr(r.templates)), results)
}

// cleanUp deletes all children, and waits until they are gone: the Deployment with its pods, and the
// Service with its load balancer. It finds the children by their owner reference, since the templates
// may have changed their names. The garbage collector would delete them only after app is gone.
func (r *Reconciler) cleanUp(ctx context.Context, app *v1alpha1.ReverseWordsApp) error {
	for _, reader := range []client.Reader{r.client, r.server} { // a cache without children may be stale
		children, err := childrenOf(ctx, reader, app)
		errs, remaining := []error{err}, []string(nil)
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
			return finalizer.NotDone(pollInterval, "still there: "+strings.Join(remaining, ", "))
		}
	}
	return nil
}

// finish reports why app is not deleted yet, or why the finalizer could not be added or removed.
func (r *Reconciler) finish(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, deletion finalizer.Result, err error,
) (reconcile.Result, error) {
	problem := readiness.Readiness{
		State: readiness.Terminating, Reason: string(readiness.Terminating),
		Message: cmp.Or(deletion.Reason, "cleanup is complete; somebody else's finalizer is left"),
	}
	switch {
	case apierrors.IsConflict(err), err == nil && len(app.Finalizers) == 0:
		return ensure.Retry(ctx, err) // the cached copy is stale, or app is gone
	case err != nil:
		problem = ensure.Result[client.Object]{}.Readiness(err)
	}
	if err := errors.Join(err, r.report(ctx, app, problem)); err != nil {
		return ensure.Retry(ctx, err)
	}
	return reconcile.Result{RequeueAfter: deletion.After}, nil
}

// reject reports a mistake in app or in a template, and leaves the children unchanged. The error is
// terminal: only a change of app or of the templates helps.
func (r *Reconciler) reject(ctx context.Context, app *v1alpha1.ReverseWordsApp, reason string, err error) (reconcile.Result, error) {
	problem := readiness.Readiness{State: readiness.Failed, Reason: reason, Message: err.Error()}
	if err := r.report(ctx, app, problem); err != nil {
		return ensure.Retry(ctx, err)
	}
	r.warnings.Record(app, v1alpha1.ReadyCondition, problem)
	return ensure.Retry(ctx, reconcile.TerminalError(err))
}
