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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/finalizer"
)

// Name is the operator's: the owner of the fields it applies, and the user agent.
const Name = "reverse-words-operator"

const (
	// workers is how many ReverseWordsApps are reconciled at once.
	workers = 10
	// retryRejected is how often a ReverseWordsApp that cannot be helped is looked at.
	retryRejected = 5 * time.Minute
	// patience is how often it is looked whether children are gone. The event that tells
	// so comes sooner; this is for the one that gets lost.
	patience = 30 * time.Second
)

// Reconciler makes the children of ReverseWordsApps.
type Reconciler struct {
	client client.Client
	ensure *ensure.Ensurer
}

// New returns the reconciler of mgr. childLabels are stamped on every child.
func New(mgr ctrl.Manager, childLabels map[string]string) (*Reconciler, error) {
	own := map[string]string{managedByLabel: Name}
	stamp, err := operator.Stamp(own, childLabels, managedByLabel, appLabel)
	if err != nil {
		return nil, err
	}
	return &Reconciler{
		client: mgr.GetClient(),
		ensure: ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name,
			ensure.WithLabels(stamp), ensure.WithRecorder(mgr.GetEventRecorder(Name))),
	}, nil
}

// What Reconcile does, and nothing else. The finalizer is written by a patch. A child is
// created by a patch, which takes both verbs, and read from the server where the cache
// may be wrong.
//
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps,verbs=list;watch;patch
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps/status,verbs=patch
// +kubebuilder:rbac:groups=apps.linuxera.org,resources=reversewordsapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile makes the Deployment and the Service in front of it, and tells how they
// stand. Once the ReverseWordsApp is being deleted it removes both instead.
func (r *Reconciler) Reconcile(ctx context.Context, app *v1alpha1.ReverseWordsApp) (reconcile.Result, error) {
	going, err := finalizer.Handle(ctx, r.client, app, finalizer.Step{
		Name:    v1alpha1.Finalizer,
		Cleanup: func(ctx context.Context) error { return r.cleanUp(ctx, app) },
	})
	if err != nil || going.Done {
		return r.takeLeave(ctx, app, going, err)
	}
	if err := namesFor(app.Name).check(); err != nil {
		return r.reject(ctx, app, err)
	}

	deployment, service := deploymentFor(app), serviceFor(app)
	made, err := ensure.Set(ctx, r.ensure, app, []client.Object{deployment, service})
	operator.LogWrites(ctx, made)
	return r.tell(ctx, app, ensure.ResultOf(made, deployment), ensure.ResultOf(made, service), err)
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
	return operator.Retry(ctx, errors.Join(err, stockErr))
}

// cleanUp deletes both children, and waits until they are gone: the Deployment once its
// pods are, the Service once its load balancer is. Leaving them to the garbage collector
// would do neither, as that begins when the ReverseWordsApp is gone.
func (r *Reconciler) cleanUp(ctx context.Context, app *v1alpha1.ReverseWordsApp) error {
	names := namesFor(app.Name)
	service, serviceErr := ensure.Absent(ctx, r.ensure,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: names.service}}, ensure.ControlledBy(app))
	deployment, deploymentErr := ensure.Absent(ctx, r.ensure,
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: names.deployment}}, ensure.ControlledBy(app),
		ensure.Propagation(metav1.DeletePropagationForeground))
	if err := errors.Join(unlessForeign(serviceErr), unlessForeign(deploymentErr)); err != nil {
		return err
	}
	var left []string
	if service.Operation == ensure.Deleting {
		left = append(left, fmt.Sprintf("Service %q", names.service))
	}
	if deployment.Operation == ensure.Deleting {
		left = append(left, fmt.Sprintf("Deployment %q and its pods", names.deployment))
	}
	if len(left) > 0 {
		return finalizer.Wait(patience, "still there: "+strings.Join(left, ", "))
	}
	return nil
}

// unlessForeign forgives that a child's name is somebody else's: no child is there then.
func unlessForeign(err error) error {
	if errors.Is(err, ensure.ErrForeign) {
		return nil
	}
	return err
}

// takeLeave tells what keeps app, for as long as there is somebody to tell. It is also
// where a ReverseWordsApp ends up that cannot be given its finalizer.
func (r *Reconciler) takeLeave(
	ctx context.Context, app *v1alpha1.ReverseWordsApp, going finalizer.Result, err error,
) (reconcile.Result, error) {
	var is verdict
	switch {
	case apierrors.IsConflict(err), err == nil && len(app.Finalizers) == 0:
		return ensure.Retry(err) // a fresh copy is on its way, or none any more
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
		return operator.Retry(ctx, err)
	}
	return reconcile.Result{RequeueAfter: going.After}, nil
}

// reject reports what is wrong with app itself. Trying again soon would not help.
func (r *Reconciler) reject(ctx context.Context, app *v1alpha1.ReverseWordsApp, err error) (reconcile.Result, error) {
	is := notReady(reasonInvalidName, err.Error())
	if err := r.report(ctx, app, stock{}, is, is); err != nil {
		return operator.Retry(ctx, err)
	}
	return reconcile.Result{RequeueAfter: retryRejected}, nil
}
