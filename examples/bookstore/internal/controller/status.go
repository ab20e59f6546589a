package controller

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// Reasons of the conditions. Other reasons are the states of children and the results of ensure.Reason.
const (
	reasonInvalidName   = "InvalidName"
	reasonInvalidSize   = "InvalidSize"
	reasonRenameRefused = "RenameRefused"
)

// failed returns the readiness of something that could not be done because of err.
func failed(err error) readiness.Readiness {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return notReady(refused.reason, refused.message)
	}
	return notReady(ensure.Reason(err), err.Error())
}

func notReady(reason, message string) readiness.Readiness {
	return readiness.Readiness{State: readiness.InProgress, Reason: reason, Message: message}
}

// judge returns the readiness of the first child that is not ready. If a child was not ensured, the reason
// comes from err. A stale copy, which does not include the last write, is not ready.
func judge(children []ensure.Result[client.Object], err error) readiness.Readiness {
	for _, child := range children {
		current := child.Readiness(err)
		if current.State == readiness.Ready {
			continue
		}
		if child.Live != nil {
			current.Message = fmt.Sprintf("%s %q: %s", operator.Kind(child.Live), child.Live.GetName(), current.Message)
		}
		return current
	}
	return readiness.Readiness{State: readiness.Ready, Reason: string(readiness.Ready), Message: "all is ready"}
}

// report writes the status of store. The list of children stays unchanged after a pass that failed, which
// does not know all children.
func (r *Reconciler) report(
	ctx context.Context, store *v1alpha1.BookStore, db *database, live *appsv1.StatefulSet, results ensure.Results,
	volumes, database, app readiness.Readiness,
) error {
	set := status.For(store)
	return status.Patch(ctx, r.client, store, func(store *v1alpha1.BookStore) {
		conditions := &store.Status.Conditions
		set.Child(conditions, v1alpha1.DatabaseReadyCondition, database)
		set.Child(conditions, v1alpha1.AppReadyCondition, app)
		set.Ready(conditions, v1alpha1.DatabaseReadyCondition, v1alpha1.AppReadyCondition)
		set.Child(conditions, v1alpha1.VolumeResizedCondition, volumes)
		store.Status.ObservedGeneration = store.Generation
		store.Status.Volumes = volumesOf(db)
		if live != nil {
			store.Status.Database = new(identityOf(live))
		}
		if names := statusChildren(results.Children); names != nil {
			store.Status.Children = names
		}
	}, status.FieldOwner(Name))
}

// reject reports a mistake in store or in the templates, and leaves the children unchanged.
func (r *Reconciler) reject(ctx context.Context, store *v1alpha1.BookStore, err error) (reconcile.Result, error) {
	invalid := failed(err)
	isNews := operator.IsNews(store.Status.Conditions, v1alpha1.ReadyCondition, invalid.Message)
	reportErr := r.reportNotReady(ctx, store, invalid)
	if isNews && reportErr == nil {
		operator.Warn(r.events, store, invalid.Reason, invalid.Message)
	}
	return ensure.Retry(ctx, errors.Join(err, reportErr))
}

// reportNotReady sets the Ready condition of store to False, and leaves the other conditions unchanged.
func (r *Reconciler) reportNotReady(ctx context.Context, store *v1alpha1.BookStore, state readiness.Readiness) error {
	set := status.For(store)
	return status.Patch(ctx, r.client, store, func(store *v1alpha1.BookStore) {
		set.Child(&store.Status.Conditions, v1alpha1.ReadyCondition, state)
		store.Status.ObservedGeneration = store.Generation
	}, status.FieldOwner(Name))
}

// statusChildren returns nil if one of the children is unknown.
func statusChildren(children []ensure.Result[client.Object]) []v1alpha1.Child {
	names := make([]v1alpha1.Child, len(children))
	for i, child := range children {
		live := child.Live
		if live == nil {
			return nil
		}
		names[i] = v1alpha1.Child{Kind: operator.Kind(live), Name: live.GetName(), UID: live.GetUID()}
	}
	return names
}

func volumesOf(db *database) []v1alpha1.Volume {
	volumes := make([]v1alpha1.Volume, len(db.volumes))
	for i, volume := range db.volumes {
		volumes[i] = v1alpha1.Volume{Name: volume.claim.Name, UID: volume.claim.UID}
		if capacity, known := volume.claim.Status.Capacity[corev1.ResourceStorage]; known {
			volumes[i].Capacity = &capacity
		}
	}
	return volumes
}
