package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/finalizer"
)

// cleanUp deletes objects that the garbage collector would not delete, and protects retained claims. If
// the set is just being recreated, cleanUp deletes the orphaned pods. With `retain: false`, cleanUp deletes
// the claims, since the set may not own all of them. With `retain: true`, cleanUp ensures that the set owns
// no claims. The garbage collector deletes the children after store is gone.
func (r *Reconciler) cleanUp(ctx context.Context, store *v1alpha1.BookStore) error {
	db, err := r.observeUncached(ctx, store, r.identityFor(store))
	switch {
	case err != nil:
		return err
	case db.set != nil && db.set.DeletionTimestamp != nil:
		return finalizer.NotDone(deletionPollInterval, fmt.Sprintf("StatefulSet %q still exists", db.set.Name))
	case db.set == nil && len(db.leftover) > 0:
		return finalizer.NotDone(deletionPollInterval, fmt.Sprintf("pod %q still belongs to a deleted StatefulSet", db.leftover[0].Name))
	}
	if err := r.deleteOrphans(ctx, db); err != nil {
		return err
	}
	if retains(store) {
		return r.keepClaims(ctx, db)
	}
	for _, volume := range db.volumes {
		if err := r.delete(ctx, volume.claim); err != nil {
			return err
		}
	}
	return nil
}

// identityFor returns the identity according to the templates, or nil if the templates cannot be used.
func (r *Reconciler) identityFor(store *v1alpha1.BookStore) *v1alpha1.Database {
	desired, err := childrenFor(store, r.templates.Renderer())
	if err != nil {
		return nil
	}
	return new(identityOf(desired.database))
}

// deleteOrphans deletes the pods of a set that was just being recreated.
func (r *Reconciler) deleteOrphans(ctx context.Context, db *database) error {
	if db.set != nil {
		return nil // the set adopts the pods
	}
	for i := range db.pods {
		if metav1.GetControllerOfNoCopy(&db.pods[i]) != nil {
			continue
		}
		if err := r.delete(ctx, &db.pods[i]); err != nil {
			return err
		}
	}
	return nil
}

// finish reports why store is not deleted yet, or why the finalizer could not be added or removed.
func (r *Reconciler) finish(
	ctx context.Context, store *v1alpha1.BookStore, deletion finalizer.Result, err error,
) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err), err == nil && len(store.Finalizers) == 0:
		return ensure.Retry(ctx, err) // the cached copy is stale, or store is gone
	case err != nil:
		return retry(ctx, 0, ensure.Results{}, err, r.reportNotReady(ctx, store, ensure.Reason(err), err.Error()))
	case deletion.Reason == "":
		deletion.Reason = "cleanup is complete; somebody else's finalizer is left"
	}
	return retry(ctx, deletion.After, ensure.Results{}, r.reportNotReady(ctx, store, reasonTerminating, deletion.Reason))
}
