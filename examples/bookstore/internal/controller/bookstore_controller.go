// Package controller makes BookStores so.
package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/finalizer"
)

// Name is the operator's: the owner of the fields it applies, and the user agent.
const Name = "bookstore-operator"

const (
	// retryRejected is how often it is looked at what cannot be helped.
	retryRejected = 5 * time.Minute
	// patience is how often it is looked whether a child is gone. The event that tells so
	// comes sooner; this is for the one that gets lost.
	patience = 30 * time.Second
)

// Options are what an operator may be told.
type Options struct {
	// ChildLabels are stamped on every child.
	ChildLabels map[string]string
	// RestartAfter is how long a file system may wait to be resized before its pod is
	// restarted, where a BookStore allows that.
	RestartAfter time.Duration
}

// Reconciler makes the children of BookStores.
type Reconciler struct {
	client       client.Client
	server       client.Reader
	ensure       *ensure.Ensurer
	restartAfter time.Duration
}

// New returns the reconciler of mgr.
func New(mgr ctrl.Manager, options Options) (*Reconciler, error) {
	own := map[string]string{managedByLabel: Name}
	stamp, err := operator.Stamp(own, options.ChildLabels, managedByLabel, appLabel)
	if err != nil {
		return nil, err
	}
	return &Reconciler{
		client: mgr.GetClient(),
		server: mgr.GetAPIReader(),
		ensure: ensure.New(mgr.GetClient(), mgr.GetAPIReader(), Name,
			ensure.WithLabels(stamp), ensure.WithRecorder(mgr.GetEventRecorder(Name))),
		restartAfter: options.RestartAfter,
	}, nil
}

// What Reconcile does, and nothing else. The finalizer is written by a patch. A child is
// created by a patch, which takes both verbs, and read from the server where the cache may
// be wrong. Claims are the StatefulSet's to make.
//
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores,verbs=list;watch;patch
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores/status,verbs=patch
// +kubebuilder:rbac:groups=blog.velotio.com,resources=bookstores/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;delete
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile makes the database and then the app in front of it, has volumes grow, and tells
// how they stand.
func (r *Reconciler) Reconcile(ctx context.Context, store *v1alpha1.BookStore) (reconcile.Result, error) {
	going, err := finalizer.Handle(ctx, r.client, store, finalizer.Step{
		Name:    v1alpha1.Finalizer,
		Cleanup: func(ctx context.Context) error { return r.cleanUp(ctx, store) },
	})
	if err != nil || going.Done {
		return r.takeLeave(ctx, store, going, err)
	}
	if invalid := check(store); invalid != nil {
		return r.reject(ctx, store, invalid)
	}

	db, err := r.look(ctx, store)
	if err != nil {
		return operator.Retry(ctx, err)
	}
	storage, storageErr := r.provide(ctx, store, db)

	set := databaseFor(store, storage)
	database := []client.Object{databaseServiceFor(store), set}
	app := []client.Object{appFor(store), appServiceFor(store)}
	made, err := ensure.Set(ctx, r.ensure, store, slices.Concat(database, app),
		ensure.OnlyFor(set, ensure.Recreate(metav1.DeletePropagationOrphan))) // around its pods
	operator.LogWrites(ctx, made)

	wait, restartErr := r.restart(ctx, store, db, ensure.ResultOf(made, set))
	volumesAre, databaseIs := judgeVolumes(db, storage.replicas, storageErr), judge(made, err, database)
	if databaseIs.ready && storage.replicas < store.Spec.BookDB.Replicas {
		databaseIs = volumesAre // which tells why there are fewer
	}
	reportErr := r.report(ctx, store, db, made, volumesAre, databaseIs, judge(made, err, app))
	return retry(ctx, wait, storageErr, err, restartErr, reportErr)
}

// check refuses what no retry can help.
func check(store *v1alpha1.BookStore) *refusal {
	if err := namesFor(store.Name).check(); err != nil {
		return &refusal{reasonInvalidName, err.Error()}
	}
	if size := store.Spec.BookDB.DBSize; size.Sign() <= 0 {
		return &refusal{reasonInvalidSize, fmt.Sprintf("spec.bookDB.dbSize is %s, and no volume can be so small", &size)}
	}
	return nil
}

// retry is operator.Retry for all errors but refusals, which are looked at rarely, and looks
// again after wait, unless that is zero, or sooner.
func retry(ctx context.Context, wait time.Duration, errs ...error) (reconcile.Result, error) {
	var others []error
	for _, err := range errs {
		if _, refused := errors.AsType[*refusal](err); !refused {
			others = append(others, err)
		} else if wait == 0 {
			wait = retryRejected
		}
	}
	result, err := operator.Retry(ctx, errors.Join(others...))
	if err == nil && wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
		result.RequeueAfter = wait
	}
	return result, err
}
