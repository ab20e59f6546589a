// Package controller reconciles Applications.
package controller

import (
	"context"
	"errors"

	"golang.org/x/crypto/ripemd160" //nolint:gosec,staticcheck // not used for security; existing objects have digests of this form
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/status"
)

// Name is the name of the operator, the field owner and the user agent.
const Name = "application-operator"

// Reconciler reconciles Applications.
type Reconciler struct {
	client    client.Client
	ensure    *ensure.Ensurer
	warnings  *status.Warnings
	templates *manifest.Folder
}

// New returns a reconciler that renders children from templates. It adds childLabels to every child.
func New(mgr ctrl.Manager, templates *manifest.Folder, childLabels map[string]string) (*Reconciler, error) {
	allLabels, err := operator.Stamp(Name, childLabels, digestLabel)
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:    mgr.GetClient(),
		warnings:  status.NewWarnings(recorder),
		templates: templates,
		ensure: ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name,
			ensure.WithLabels(allLabels),
			ensure.WithRecorder(recorder),
			ensure.WithDigest(hash.Using(ripemd160.New), hash.Label(digestLabel))),
	}, nil
}

// Reconcile needs these permissions. A patch that creates a child takes the verbs create and patch. The
// verb get is for reads from the server when the cache may be stale. To restore an owner reference, the
// operator needs the permission to delete the child.
//
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications,verbs=get;list;watch
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications/status,verbs=patch
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets;services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile ensures the Secret, the Deployment and the Service of app, and reports their state in a
// condition. Once the Deployment is ready, Reconcile deletes children with former names.
func (r *Reconciler) Reconcile(ctx context.Context, app *v1alpha1.Application) (reconcile.Result, error) {
	if app.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // the garbage collector deletes the children
	}
	desired, reason, err := r.desired(app)
	if err != nil {
		return r.reject(ctx, app, reason, err)
	}

	results, err := ensure.Set(ctx, r.ensure, app, desired.inOrder(),
		ensure.Prune(&corev1.Secret{}, &appsv1.Deployment{}, &corev1.Service{}).WhenReady())
	reportErr := r.report(ctx, app, ensure.ResultOf(results, desired.deployment), results, err)
	return ensure.Retry(ctx, errors.Join(err, reportErr, operator.TemplatesErr(r.templates)), results)
}

// desired returns the desired children of app, or an error and the reason for the condition.
func (r *Reconciler) desired(app *v1alpha1.Application) (desired *children, reason string, err error) {
	desired, err = childrenFor(app, r.templates.Renderer())
	if err != nil {
		return nil, operator.ReasonInvalidTemplate, err
	}
	return desired, reasonInvalidName, desired.checkNames(app.Name)
}
