package controller

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/status/readiness"
)

// cleanUp deletes objects that the garbage collector would not delete, and protects retained claims. If
// the set is just being recreated, cleanUp deletes the orphaned pods. With `retain: false`, cleanUp deletes
// the claims, since the set may not own all of them. With `retain: true`, cleanUp ensures that the set owns
// no claims. The garbage collector deletes the children after store is gone.
func (r *Reconciler) cleanUp(ctx context.Context, store *v1alpha1.BookStore) error {
	desired, err := childrenFor(store, r.templates.Renderer())
	if err != nil {
		desired = &children{} // the set or the status has the identity
	}
	db, err := r.observe(ctx, store, desired.database, r.server)
	switch {
	case err != nil:
		return err
	case db.set != nil && db.set.DeletionTimestamp != nil:
		return finalizer.NotDone(deletionPollInterval, fmt.Sprintf("StatefulSet %q still exists", db.set.Name))
	case db.set == nil && len(db.leftover) > 0:
		return finalizer.NotDone(deletionPollInterval, fmt.Sprintf("pod %q still belongs to a deleted StatefulSet", db.leftover[0].Name))
	}
	for i := range db.pods {
		if db.set != nil {
			break // the set adopts orphans
		}
		if err := r.delete(ctx, &db.pods[i]); err != nil {
			return err
		}
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

// keepClaims ensures that the deletion of the set does not delete claims.
func (r *Reconciler) keepClaims(ctx context.Context, db *database) error {
	owned, err := r.disownClaims(ctx, db)
	if err == nil && owned {
		err = finalizer.NotDone(deletionPollInterval, fmt.Sprintf("StatefulSet %q still owns claims that must be retained", db.set.Name))
	}
	return err
}

// finish reports why store is not deleted yet, or why the finalizer could not be added or removed.
func (r *Reconciler) finish(
	ctx context.Context, store *v1alpha1.BookStore, deletion finalizer.Result, err error,
) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || err == nil && len(store.Finalizers) == 0 {
		return ensure.Retry(ctx, err) // the cached copy is stale, or store is gone
	}
	state := notReady(string(readiness.Terminating), cmp.Or(deletion.Reason, "cleanup is complete; somebody else's finalizer is left"))
	if err != nil {
		state = failed(err)
	}
	return retry(ctx, deletion.After, ensure.Results{}, err, r.reportNotReady(ctx, store, state))
}
