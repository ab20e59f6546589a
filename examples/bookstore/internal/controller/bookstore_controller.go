// Package controller makes BookStores so.
package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/finalizer"
)

// Name is the name of the operator, the field owner and the user agent.
const Name = "bookstore-operator"

const (
	// patience is the interval of the checks whether a child is gone. The event of the deletion comes
	// sooner, but may get lost.
	patience = 30 * time.Second
)

// Options configure an operator.
type Options struct {
	// ChildLabels are added to every child, whatever the template specifies.
	ChildLabels map[string]string
	// Templates are the manifests of the children.
	Templates *operator.Templates
	// RestartAfter is the time for which a file system may wait to be resized before its pod is
	// restarted, if the BookStore allows that.
	RestartAfter time.Duration
}

// Reconciler makes the children of BookStores.
type Reconciler struct {
	client       client.Client
	server       client.Reader
	ensure       *ensure.Ensurer
	templates    *operator.Templates
	events       events.EventRecorder
	restartAfter time.Duration
}

// New returns the reconciler of mgr.
func New(mgr ctrl.Manager, options Options) (*Reconciler, error) {
	own := map[string]string{managedByLabel: Name}
	stamp, err := operator.Stamp(own, options.ChildLabels, managedByLabel)
	if err != nil {
		return nil, err
	}
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:       mgr.GetClient(),
		server:       mgr.GetAPIReader(),
		ensure:       ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name, ensure.WithLabels(stamp), ensure.WithRecorder(recorder)),
		templates:    options.Templates,
		events:       recorder,
		restartAfter: options.RestartAfter,
	}, nil
}

// These permissions are all that Reconcile needs. The finalizer is written by a patch. A child is created
// by a patch, which takes both verbs, and read from the server where the cache may be wrong. The controller of
// the StatefulSet creates claims.
//
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores/status,verbs=patch
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;delete
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile ensures the database and then the app, resizes volumes, and reports their state. If the
// templates would change the identity of the database, nothing is written, not even to the app,
// which would get the address of a database that does not exist.
func (r *Reconciler) Reconcile(ctx context.Context, store *v1alpha1.BookStore) (reconcile.Result, error) {
	going, err := finalizer.Handle(ctx, r.client, store, finalizer.Step{
		Name:    v1alpha1.Finalizer,
		Cleanup: func(ctx context.Context) error { return r.cleanUp(ctx, store) },
	})
	if err != nil || going.Done {
		return r.takeLeave(ctx, store, going, err)
	}
	wanted, invalid := r.wanted(store)
	if invalid != nil {
		return r.reject(ctx, store, invalid)
	}
	db, err := r.look(ctx, store, new(identityOf(wanted.database)))
	if err != nil {
		return ensure.Retry(ctx, err)
	}
	if renamed := db.mayBecome(identityOf(wanted.database)); renamed != nil {
		return r.reject(ctx, store, renamed)
	}

	storage, storageErr := r.provide(ctx, store, db, wanted.database)
	storage.writeInto(wanted.database)
	prune := operator.PruneOnceReady(ctx, r.client, wanted.app, &appsv1.Deployment{}, &corev1.Service{})
	made, err := ensure.Set(ctx, r.ensure, store, wanted.inOrder(), append(prune, mayRecreate(db, wanted.database))...)
	operator.LogWrites(ctx, made)
	err = r.prepareToRecreate(ctx, db, err)

	set := ensure.ResultOf(made, wanted.database)
	wait, restartErr := r.restart(ctx, store, db, set)
	volumesAre, databaseIs := judgeVolumes(db, storage.replicas, storageErr), judge(made, err, wanted.ofDatabase())
	if databaseIs.ready && storage.replicas < store.Spec.BookDB.Replicas {
		databaseIs = volumesAre // which tells why there are fewer
	}
	reportErr := r.report(ctx, store, db, set.Live, made, volumesAre, databaseIs, judge(made, err, wanted.ofApp()))
	return retry(ctx, wait, made, storageErr, err, restartErr, reportErr)
}

// wanted returns the desired children of store, without the settings of storage.
func (r *Reconciler) wanted(store *v1alpha1.BookStore) (*children, *refusal) {
	if size := store.Spec.BookDB.DBSize; size.Sign() <= 0 {
		return nil, &refusal{reasonInvalidSize, fmt.Sprintf("spec.bookDB.dbSize is %s, and no volume can be so small", &size)}
	}
	wanted, err := operator.Render(r.templates, store, childrenFor)
	if err != nil {
		return nil, &refusal{operator.ReasonInvalidTemplate, err.Error()}
	}
	if err := wanted.checkNames(store.Name); err != nil {
		return nil, &refusal{reasonInvalidName, err.Error()}
	}
	return wanted, nil
}

// mayRecreate allows to recreate the set around its pods, unless the set owns claims, which would
// be deleted with it.
func mayRecreate(db *database, set *appsv1.StatefulSet) ensure.Option {
	if db.owns() {
		return ensure.OnlyFor(set)
	}
	return ensure.OnlyFor(set, ensure.Recreate(metav1.DeletePropagationOrphan))
}

// prepareToRecreate changes the set to own no claims, if the set has to be recreated and err says
// that it was not, because it owns some. This happens for a change of a template; for another size,
// provide has done so before.
func (r *Reconciler) prepareToRecreate(ctx context.Context, db *database, err error) error {
	failed, ok := errors.AsType[*ensure.Error](err)
	if !ok || failed.Kind.Kind != operator.Kind(db.set) || !errors.Is(err, ensure.ErrImmutable) || !db.owns() {
		return err
	}
	_, disownErr := r.disown(ctx, db)
	return errors.Join(err, disownErr)
}

// retry is ensure.Retry, to which refusals are the operator's own, and reconciles again after
// wait, unless that is zero, or sooner.
func retry(ctx context.Context, wait time.Duration, made ensure.Results, errs ...error) (reconcile.Result, error) {
	for i, err := range errs {
		if _, refused := errors.AsType[*refusal](err); refused {
			errs[i] = reconcile.TerminalError(err)
		}
	}
	result, err := ensure.Retry(ctx, errors.Join(errs...), made)
	if err == nil && wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
		result.RequeueAfter = wait
	}
	return result, err
}
