// Package controller reconciles Applications.
package controller

import (
	"context"

	"golang.org/x/crypto/ripemd160" //nolint:gosec,staticcheck // not used for security; existing objects have digests of this form
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/predicates"
)

// Name is the name of the operator, the field owner and the user agent.
const Name = "application-operator"

// Reconciler reconciles Applications.
type Reconciler struct {
	client    client.Client
	ensure    *ensure.Ensurer
	events    events.EventRecorder
	templates *manifest.Folder
}

// New returns a reconciler that renders children from templates. It adds childLabels to every child.
func New(mgr ctrl.Manager, templates *manifest.Folder, childLabels map[string]string) (*Reconciler, error) {
	own := map[string]string{managedByLabel: Name}
	allLabels, err := operator.Stamp(own, childLabels, managedByLabel, digestLabel)
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:    mgr.GetClient(),
		events:    recorder,
		templates: templates,
		ensure: ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name,
			ensure.WithLabels(allLabels),
			ensure.WithRecorder(recorder),
			ensure.WithDigest(hash.Using(ripemd160.New), hash.Label(digestLabel))),
	}, nil
}

// Cached limits the cache of the manager to objects with the label of this operator. The operator should
// not read other Secrets, and other Deployments and Services would fill its memory. If somebody removes
// the label from a child, ensure finds the child on the server and adds the label again.
func Cached() map[client.Object]cache.ByObject {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: Name})}
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}:     own,
		&appsv1.Deployment{}: own,
		&corev1.Service{}:    own,
	}
}

// SetupWithManager sets up a controller with mgr. The controller reconciles an Application after a change
// of its spec or metadata, after a change of its children, and after a change of the templates.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	owned := builder.WithPredicates(predicates.Owned())
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Application{}, builder.WithPredicates(predicates.Primary())).
		Owns(&corev1.Secret{}, owned).
		Owns(&appsv1.Deployment{}, owned).
		Owns(&corev1.Service{}, owned).
		WatchesRawSource(r.templates.Source(mgr.GetCache(), &v1alpha1.ApplicationList{})).
		WithOptions(controller.Options{RateLimiter: ensure.RateLimiter()}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// Reconcile needs these permissions. A patch that creates a child takes the verbs create and patch. The
// verb get is for reads from the server when the cache may be stale. To restore an owner reference, the
// operator needs the permission to delete the child.
//
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications,verbs=get;list;watch
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications/status,verbs=patch
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets;services,verbs=get;list;watch;create;patch;delete
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
		ensure.PruneOnceReady(&corev1.Secret{}, &appsv1.Deployment{}, &corev1.Service{}))
	if err != nil {
		return r.fail(ctx, app, err)
	}
	err = r.report(ctx, app, deploymentReadiness(ensure.ResultOf(results, desired.deployment)), results.Children...)
	return ensure.Retry(ctx, err, results)
}

// desired returns the desired children of app, or an error and the reason for the condition.
func (r *Reconciler) desired(app *v1alpha1.Application) (desired *children, reason string, err error) {
	desired, err = childrenFor(app, r.templates.Renderer())
	if err != nil {
		return nil, operator.ReasonInvalidTemplate, err
	}
	return desired, reasonInvalidName, desired.checkNames(app.Name)
}
