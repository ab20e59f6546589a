package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	reasonInvalidName = "InvalidName"
	reasonInvalidSize = "InvalidSize"
	reasonTerminating = "Terminating"
)

// A verdict contains the status, the reason and the message of a condition.
type verdict struct {
	ready           bool
	reason, message string
}

func notReady(reason, message string) verdict {
	return verdict{reason: reason, message: message}
}

func (v verdict) write(set status.Setter, conditions *[]metav1.Condition, conditionType string) {
	if v.ready {
		set.True(conditions, conditionType, v.reason, v.message)
	} else {
		set.False(conditions, conditionType, v.reason, v.message)
	}
}

// judge returns the verdict on the first child that is not ready. If a child was not ensured, the reason
// comes from err. A stale copy, which does not include the last write, is not ready.
func judge(results ensure.Results, err error, children []client.Object) verdict {
	for _, child := range children {
		result := ensure.ResultOf(results, child)
		if result.Operation == "" {
			return notReady(ensure.Reason(err), err.Error())
		}
		name := fmt.Sprintf("%s %q", operator.Kind(child), child.GetName())
		if result.Stale {
			return notReady(string(readiness.InProgress), name+": the cache does not show the last write yet")
		}
		if current := readiness.Of(result.Live); current.State != readiness.Ready {
			return notReady(string(current.State), name+": "+current.Message)
		}
	}
	return verdict{ready: true, reason: string(readiness.Ready), message: "all is ready"}
}

// report writes the status of store. The list of children stays unchanged after a pass that failed, which
// does not know all children.
func (r *Reconciler) report(
	ctx context.Context, store *v1alpha1.BookStore, db *database, live *appsv1.StatefulSet, results ensure.Results,
	volumes, database, app verdict,
) error {
	set := status.For(store)
	return status.Patch(ctx, r.client, store, func(store *v1alpha1.BookStore) {
		conditions := &store.Status.Conditions
		database.write(set, conditions, v1alpha1.DatabaseReadyCondition)
		app.write(set, conditions, v1alpha1.AppReadyCondition)
		set.Ready(conditions, v1alpha1.DatabaseReadyCondition, v1alpha1.AppReadyCondition)
		volumes.write(set, conditions, v1alpha1.VolumeResizedCondition)
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

// reject reports a mistake in store or in the templates, and leaves the children unchanged. The error is
// terminal: only a change of store or of the templates helps.
func (r *Reconciler) reject(ctx context.Context, store *v1alpha1.BookStore, invalid *refusal) (reconcile.Result, error) {
	isNews := operator.IsNews(store.Status.Conditions, v1alpha1.ReadyCondition, invalid.message)
	err := r.reportNotReady(ctx, store, invalid.reason, invalid.message)
	if isNews && err == nil {
		operator.Warn(r.events, store, invalid.reason, invalid.message)
	}
	return retry(ctx, 0, ensure.Results{}, invalid, err)
}

// reportNotReady sets the Ready condition of store to False, and leaves the other conditions unchanged.
func (r *Reconciler) reportNotReady(ctx context.Context, store *v1alpha1.BookStore, reason, message string) error {
	set := status.For(store)
	return status.Patch(ctx, r.client, store, func(store *v1alpha1.BookStore) {
		set.False(&store.Status.Conditions, v1alpha1.ReadyCondition, reason, message)
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
