// Package controller reconciles BookStores.
package controller

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// Name is the name of the operator, the field owner and the user agent.
const Name = "bookstore-operator"

// deletionPollInterval is how often the operator checks whether a child is gone. Usually, the event of
// the deletion triggers a reconcile before.
const deletionPollInterval = 30 * time.Second

// Options configure an operator.
type Options struct {
	// ChildLabels are added to every child.
	ChildLabels map[string]string
	// Templates are the manifests of the children.
	Templates *manifest.Folder
	// RestartAfter is how long a file system may wait for a resize before its pod is restarted. The BookStore
	// must allow restarts.
	RestartAfter time.Duration
}

// Reconciler reconciles BookStores.
type Reconciler struct {
	client       client.Client
	server       client.Reader
	ensure       *ensure.Ensurer
	templates    *manifest.Folder
	recorder     events.EventRecorder
	warnings     *status.Warnings
	restartAfter time.Duration
}

// New returns a reconciler.
func New(mgr ctrl.Manager, options Options) (*Reconciler, error) {
	allLabels, err := operator.Stamp(Name, options.ChildLabels)
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:       mgr.GetClient(),
		server:       mgr.GetAPIReader(),
		ensure:       ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name, ensure.WithLabels(allLabels), ensure.WithRecorder(recorder)),
		templates:    options.Templates,
		recorder:     recorder,
		warnings:     status.NewWarnings(recorder),
		restartAfter: options.RestartAfter,
	}, nil
}

// Reconcile needs these permissions. The operator adds and removes its finalizer by a patch. A patch that
// creates a child takes the verbs create and patch. The verb get is for reads from the server when the
// cache may be stale. The controller of the StatefulSet creates the claims.
//
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores/status,verbs=patch
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;delete
// +kubebuilder:rbac:groups="",resources=events,verbs=list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile ensures the database and then the app of store, resizes volumes, and reports their state in
// conditions. If the templates would change the identity of the database, Reconcile writes no child, not
// even the app: the app would get the address of a database that does not exist.
func (r *Reconciler) Reconcile(ctx context.Context, store *v1alpha1.BookStore) (reconcile.Result, error) {
	deletion, err := finalizer.Handle(ctx, r.client, store, finalizer.Step{
		Name:    v1alpha1.Finalizer,
		Cleanup: func(ctx context.Context) error { return r.cleanUp(ctx, store) },
	})
	if err != nil || deletion.Done {
		return r.finish(ctx, store, deletion, err)
	}
	desired, invalid := r.desired(store)
	if invalid != nil {
		return r.reject(ctx, store, invalid)
	}
	db, err := r.observe(ctx, store, desired.database, r.client)
	if err != nil {
		return ensure.Retry(ctx, err)
	}
	if renamed := checkIdentity(db.identity, identityOf(desired.database)); renamed != nil {
		return r.reject(ctx, store, renamed)
	}

	storageErr := r.ensureStorage(ctx, db, desired.database)
	named, namedErr := r.ensureMongoDBService(ctx, store, desired)
	results, err := ensure.Set(ctx, r.ensure, store, desired.inOrder(),
		ensure.Prune(&appsv1.Deployment{}, &corev1.Service{}).WhenReady(), recreateOption(db, desired.database))
	err = r.prepareToRecreate(ctx, db, err)

	set := ensure.ResultOf(results, desired.database)
	wait, restartErr := r.restart(ctx, store, db, set)
	seen, explainErr := r.explain(ctx, results, err, desired)
	seen.volumes, seen.mongoDBService = judgeVolumes(db, desired.database, storageErr), named
	if seen.database.State != readiness.Ready {
		seen.database.Message += db.describeFormerPods(set.Live)
	} else if *desired.database.Spec.Replicas < store.Spec.BookDB.Replicas {
		seen.database = seen.volumes // says why fewer replicas run
	}
	r.recordReuse(store, db)
	reportErr := r.report(ctx, store, db, results, seen, err)
	return retry(ctx, wait, results, storageErr, namedErr, err, restartErr, explainErr, reportErr, operator.TemplatesErr(r.templates))
}

// desired returns the desired children of store. An error is a refusal.
func (r *Reconciler) desired(store *v1alpha1.BookStore) (*children, error) {
	if size := store.Spec.BookDB.DBSize; size.Sign() <= 0 {
		return nil, refuse(reasonInvalidSize, "spec.bookDB.dbSize is %s: it must be greater than zero", &size)
	}
	desired, err := childrenFor(store, r.templates.Renderer())
	if err != nil {
		return nil, refuse(operator.ReasonInvalidTemplate, "%s", err)
	}
	if err := desired.checkNames(store.Name); err != nil {
		return nil, refuse(reasonInvalidName, "%s", err)
	}
	return desired, nil
}

// recreateOption allows ensure to recreate the StatefulSet without deleting the pods, unless the set owns
// claims: the garbage collector would delete them.
func recreateOption(db *database, set *appsv1.StatefulSet) ensure.SetOption {
	if db.ownsClaims() {
		return ensure.OnlyFor(set)
	}
	return ensure.OnlyFor(set, ensure.Recreate(metav1.DeletePropagationOrphan))
}

// prepareToRecreate changes the set to own no claims if err says that the set has to be recreated. This
// happens after a change of a template. After a change of the size, ensureStorage has already changed the
// set.
func (r *Reconciler) prepareToRecreate(ctx context.Context, db *database, err error) error {
	failed, ok := errors.AsType[*ensure.Error](err)
	if !ok || failed.Kind.Kind != operator.Kind(db.set) || !errors.Is(err, ensure.ErrImmutable) || !db.ownsClaims() {
		return err
	}
	_, disownErr := r.disownClaims(ctx, db)
	return errors.Join(err, disownErr)
}

// retry calls ensure.Retry, and requeues after wait at the latest, unless wait is zero.
func retry(ctx context.Context, wait time.Duration, results ensure.Results, errs ...error) (reconcile.Result, error) {
	result, err := ensure.Retry(ctx, errors.Join(errs...), results)
	if err == nil && wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
		result.RequeueAfter = wait
	}
	return result, err
}
