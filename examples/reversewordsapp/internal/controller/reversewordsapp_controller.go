// Package controller makes ReverseWordsApps so.
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
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/finalizer"
)

// Name is the name of the operator, the field owner and the user agent.
const Name = "reverse-words-operator"

const (
	// workers is how many ReverseWordsApps are reconciled at once.
	workers = 10
	// patience is the interval of the checks whether children are gone. The event of the deletion
	// comes sooner, but may get lost.
	patience = 30 * time.Second
	// glance is how often that is looked at of children which the cache does not show: their
	// events do not come.
	glance = 5 * time.Second
)

// Reconciler makes the children of ReverseWordsApps.
type Reconciler struct {
	client    client.Client
	server    client.Reader
	ensure    *ensure.Ensurer
	templates *operator.Templates
	events    events.EventRecorder
}

// New returns the reconciler of mgr, which makes children from templates. childLabels are added to
// every child, whatever the template specifies.
func New(mgr ctrl.Manager, templates *operator.Templates, childLabels map[string]string) (*Reconciler, error) {
	own := map[string]string{managedByLabel: Name}
	stamp, err := operator.Stamp(own, childLabels, managedByLabel)
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:    mgr.GetClient(),
		server:    mgr.GetAPIReader(),
		ensure:    ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name, ensure.WithLabels(stamp), ensure.WithRecorder(recorder)),
		templates: templates,
		events:    recorder,
	}, nil
}

// These permissions are all that Reconcile needs. The finalizer is written by a patch. A child is created
// by a patch, which takes both verbs, and read from the server where the cache may be wrong.
//
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps/status,verbs=patch
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile ensures the Deployment and the Service, and reports their state. Afterwards, it deletes
// children that the templates gave other names before. When the ReverseWordsApp is being deleted,
// it removes all children instead.
func (r *Reconciler) Reconcile(ctx context.Context, app *v1alpha1.ReverseWordsApp) (reconcile.Result, error) {
	going, err := finalizer.Handle(ctx, r.client, app, finalizer.Step{
		Name:    v1alpha1.Finalizer,
		Cleanup: func(ctx context.Context) error { return r.cleanUp(ctx, app) },
	})
	if err != nil || going.Done {
		return r.takeLeave(ctx, app, going, err)
	}
	wanted, reason, err := r.wanted(app)
	if err != nil {
		return r.reject(ctx, app, reason, err)
	}

	made, err := ensure.Set(ctx, r.ensure, app, wanted.inOrder(),
		operator.PruneOnceReady(ctx, r.client, wanted.deployment, &appsv1.Deployment{}, &corev1.Service{})...)
	operator.LogWrites(ctx, made)
	return r.tell(ctx, app, ensure.ResultOf(made, wanted.deployment), ensure.ResultOf(made, wanted.service), err)
}

// wanted are the children that app is to have. An error comes with the reason of a condition.
func (r *Reconciler) wanted(app *v1alpha1.ReverseWordsApp) (wanted *children, reason string, err error) {
	wanted, err = operator.Render(r.templates, app, childrenFor)
	if err != nil {
		return nil, operator.ReasonInvalidTemplate, err
	}
	return wanted, reasonInvalidName, wanted.checkNames(app.Name)
}

// tell reports how both stand, and says when to try again if err kept one from being made.
func (r *Reconciler) tell(
	ctx context.Context, app *v1alpha1.ReverseWordsApp,
	deployment ensure.Result[*appsv1.Deployment], service ensure.Result[*corev1.Service], err error,
) (reconcile.Result, error) {
	there, stockErr := r.takeStock(ctx, app, deployment.Live, service.Live)
	if stockErr == nil {
		stockErr = r.report(ctx, app, there, judgeDeployment(deployment, err, there.pods), judgeService(service, err))
	}
	return ensure.Retry(ctx, errors.Join(err, stockErr), deployment, service)
}

// cleanUp deletes all children, whatever the templates specify now, and waits until they are gone:
// a Deployment goes after its pods, and a Service after its load balancer. The garbage collector
// would begin only when the ReverseWordsApp is gone.
func (r *Reconciler) cleanUp(ctx context.Context, app *v1alpha1.ReverseWordsApp) error {
	children, err := r.cachedChildren(ctx, app)
	if err != nil {
		return err
	}
	if err := r.remove(ctx, app, children, patience); err != nil {
		return err
	}
	// The cache shows none, or none any more: the server knows.
	if children, err = childrenOf(ctx, r.server, app); err != nil {
		return err
	}
	return r.remove(ctx, app, children, glance)
}

// remove deletes children, and is a finalizer.Wait for those that are still there.
func (r *Reconciler) remove(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, children []client.Object, wait time.Duration,
) error {
	var left []string
	var errs []error
	for _, child := range children {
		what := fmt.Sprintf("%s %q", operator.Kind(child), child.GetName())
		policy := metav1.DeletePropagationBackground
		if _, ok := child.(*appsv1.Deployment); ok {
			what, policy = what+" and its pods", metav1.DeletePropagationForeground
		}
		is, err := ensure.Absent(ctx, r.ensure, child, ensure.ControlledBy(app), ensure.Propagation(policy))
		if errs = append(errs, err); is.Operation == ensure.Deleting {
			left = append(left, what)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(left) > 0 {
		return finalizer.Wait(wait, "still there: "+strings.Join(left, ", "))
	}
	return nil
}

// takeLeave reports why app cannot go yet, as long as app exists. It also reports why app cannot
// get its finalizer.
func (r *Reconciler) takeLeave(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, going finalizer.Result, err error,
) (reconcile.Result, error) {
	var is verdict
	switch {
	case apierrors.IsConflict(err), err == nil && len(app.Finalizers) == 0:
		return ensure.Retry(ctx, err) // a newer copy is about to arrive, or app is gone
	case err != nil:
		is = notReady(ensure.Reason(err), err.Error())
	case going.Reason != "":
		is = notReady(reasonTerminating, going.Reason)
	default:
		is = notReady(reasonTerminating, "all is cleaned up; somebody else's finalizer is left")
	}
	there, stockErr := r.takeStock(ctx, app, nil, nil)
	if stockErr == nil {
		stockErr = r.report(ctx, app, there, is, is)
	}
	if err := errors.Join(err, stockErr); err != nil {
		return ensure.Retry(ctx, err)
	}
	return reconcile.Result{RequeueAfter: going.After}, nil
}

// reject reports a mistake in app or in the templates. The children stay unchanged. Retrying soon
// would not help.
func (r *Reconciler) reject(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, reason string, err error,
) (reconcile.Result, error) {
	there, stockErr := r.takeStock(ctx, app, nil, nil)
	if stockErr != nil {
		return ensure.Retry(ctx, stockErr)
	}
	is := notReady(reason, err.Error())
	isNews := operator.IsNews(app.Status.Conditions, v1alpha1.ReadyCondition, is.message)
	reportErr := r.report(ctx, app, there, is, is)
	if isNews && reportErr == nil {
		operator.Warn(r.events, app, reason, err.Error())
	}
	return ensure.Retry(ctx, errors.Join(reconcile.TerminalError(err), reportErr))
}
