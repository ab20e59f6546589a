package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/finalizer"
)

// cleanUp removes objects that no garbage collector would delete, and keeps objects that one would.
// If the BookStore is deleted while its set is being recreated, it deletes the pods that the set
// left. With `retain: false`, it deletes the claims, as the set need not own all of them. With
// `retain: true`, it makes sure that the set owns none. The garbage collector deletes the children
// when the BookStore is gone. The templates matter only if nothing else shows the identity of the
// database.
func (r *Reconciler) cleanUp(ctx context.Context, store *v1alpha1.BookStore) error {
	db, err := r.lookTwice(ctx, store, r.identityFor(store))
	switch {
	case err != nil:
		return err
	case db.set != nil && db.set.DeletionTimestamp != nil:
		return finalizer.Wait(patience, fmt.Sprintf("StatefulSet %q is still there", db.set.Name))
	case db.set == nil && len(db.left) > 0:
		return finalizer.Wait(patience, fmt.Sprintf("pod %q is still that of a StatefulSet that is gone", db.left[0].Name))
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

// identityFor returns the identity of the database by the templates, nil if they cannot be used.
func (r *Reconciler) identityFor(store *v1alpha1.BookStore) *v1alpha1.Database {
	wanted, err := operator.Render(r.templates, store, childrenFor)
	if err != nil {
		return nil
	}
	return new(identityOf(wanted.database))
}

// deleteOrphans deletes the pods that a set left which was to be made again.
func (r *Reconciler) deleteOrphans(ctx context.Context, db *database) error {
	if db.set != nil {
		return nil // which takes them over
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

// takeLeave reports why store cannot go yet, as long as store exists. It also reports why store
// cannot get the finalizer.
func (r *Reconciler) takeLeave(
	ctx context.Context, store *v1alpha1.BookStore, going finalizer.Result, err error,
) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err), err == nil && len(store.Finalizers) == 0:
		return ensure.Retry(ctx, err) // a newer copy is about to arrive, or store is gone
	case err != nil:
		return retry(ctx, 0, ensure.Results{}, err, r.notReady(ctx, store, ensure.Reason(err), err.Error()))
	case going.Reason == "":
		going.Reason = "all is cleaned up; somebody else's finalizer is left"
	}
	return retry(ctx, going.After, ensure.Results{}, r.notReady(ctx, store, reasonTerminating, going.Reason))
}
