// Package controller makes Applications so.
package controller

import (
	"context"

	"golang.org/x/crypto/ripemd160" //nolint:gosec,staticcheck // marks a state, proves nothing; operators store this form already
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
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/predicates"
)

// Name is the name of the operator, the field owner and the user agent.
const Name = "application-operator"

// Reconciler makes the children of Applications.
type Reconciler struct {
	client    client.Client
	ensure    *ensure.Ensurer
	events    events.EventRecorder
	templates *operator.Templates
}

// New returns the reconciler of mgr, which makes children from templates. childLabels are added to
// every child, whatever the template specifies.
func New(mgr ctrl.Manager, templates *operator.Templates, childLabels map[string]string) (*Reconciler, error) {
	own := map[string]string{managedByLabel: Name}
	stamp, err := operator.Stamp(own, childLabels, managedByLabel, digestLabel)
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:    mgr.GetClient(),
		events:    recorder,
		templates: templates,
		ensure: ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name,
			ensure.WithLabels(stamp),
			ensure.WithRecorder(recorder),
			ensure.WithDigest(hash.Using(ripemd160.New), hash.Label(digestLabel))),
	}, nil
}

// Cached limits the cache of the manager to objects of the operator: it should not read Secrets of
// others, and their Deployments and Services would fill its memory. A child that loses the label is
// missing in the cache; ensure finds the child on the server and adds the label again.
func Cached() map[client.Object]cache.ByObject {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: Name})}
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}:     own,
		&appsv1.Deployment{}: own,
		&corev1.Service{}:    own,
	}
}

// SetupWithManager wakes the reconciler for changes of an Application except for its status, for
// all changes of its children, and for changes of the templates.
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

// These permissions are all that Reconcile needs. A child is created by a patch, which takes both verbs,
// and read from the server where the cache may be wrong. To restore an owner reference that somebody
// removed, the operator needs the permission to delete the child.
//
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications,verbs=get;list;watch
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications/status,verbs=patch
// +kubebuilder:rbac:groups=application.sample.ibm.com,resources=applications/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets;services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile ensures the Secret, the Deployment that reads the Secret, and the Service, in this
// order, and reports their state. Afterwards, it deletes children that the templates gave other
// names before.
func (r *Reconciler) Reconcile(ctx context.Context, app *v1alpha1.Application) (reconcile.Result, error) {
	if app.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // the garbage collector takes the children along
	}
	wanted, reason, err := r.wanted(app)
	if err != nil {
		return r.reject(ctx, app, reason, err)
	}

	made, err := ensure.Set(ctx, r.ensure, app, wanted.inOrder(),
		operator.PruneOnceReady(ctx, r.client, wanted.deployment, &corev1.Secret{}, &appsv1.Deployment{}, &corev1.Service{})...)
	operator.LogWrites(ctx, made)
	if err != nil {
		return r.fail(ctx, app, err)
	}
	err = r.report(ctx, app, readyWith(ensure.ResultOf(made, wanted.deployment)), made.Children...)
	return ensure.Retry(ctx, err, made)
}

// wanted are the children that app is to have. An error comes with the reason of a condition.
func (r *Reconciler) wanted(app *v1alpha1.Application) (wanted *children, reason string, err error) {
	wanted, err = operator.Render(r.templates, app, childrenFor)
	if err != nil {
		return nil, operator.ReasonInvalidTemplate, err
	}
	return wanted, reasonInvalidName, wanted.checkNames(app.Name)
}
