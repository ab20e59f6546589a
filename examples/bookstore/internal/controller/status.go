package controller

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
	volumesReused       = "VolumesReused" // the reason of an event
)

// failed returns the readiness of something that could not be done because of err.
func failed(err error) readiness.Readiness {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return readiness.Readiness{State: readiness.Failed, Reason: refused.reason, Message: refused.message}
	}
	return notReady(ensure.Reason(err), err.Error())
}

func notReady(reason, message string) readiness.Readiness {
	return readiness.Readiness{State: readiness.InProgress, Reason: reason, Message: message}
}

// states are what the conditions of a BookStore say.
type states struct{ database, app, mongoDBService, volumes readiness.Readiness }

// explain returns the states of the database and of the app. failure is the error of ensure.Set. The message about ready
// children counts the pods.
func (r *Reconciler) explain(ctx context.Context, results ensure.Results, failure error, desired *children) (seen states, err error) {
	part := func(workload client.Object, children ...client.Object) readiness.Readiness {
		found, explainErr := results.Explain(ctx, r.client, failure, children...)
		if found.State == readiness.Ready {
			found = ensure.ResultOf(results, workload).Readiness(nil)
		}
		err = errors.Join(err, explainErr)
		return found
	}
	seen.database = part(desired.database, desired.databaseService, desired.database)
	seen.app = part(desired.app, desired.app, desired.appService)
	return seen, err
}

// report writes the status of store, and then records an event for each new problem. The list of children
// stays unchanged after a pass that does not know all children, and so does the number of replicas if the
// pass does not know the Deployment.
func (r *Reconciler) report(
	ctx context.Context, store *v1alpha1.BookStore, db *database, results ensure.Results, seen states, failure error,
) error {
	isComplete := !slices.ContainsFunc(results.Children, func(child ensure.Result[client.Object]) bool { return child.Live == nil })
	templates := readiness.Readiness{State: readiness.Ready}
	if failure == nil {
		templates = operator.CheckTemplates(r.templates, templates)
	}
	set := status.For(store)
	err := status.Patch(ctx, r.client, store, func(store *v1alpha1.BookStore) {
		is, conditions := &store.Status, &store.Status.Conditions
		set.Child(conditions, v1alpha1.DatabaseReadyCondition, seen.database)
		set.Child(conditions, v1alpha1.AppReadyCondition, seen.app)
		if templates.State == readiness.Ready {
			set.Ready(conditions, v1alpha1.DatabaseReadyCondition, v1alpha1.AppReadyCondition)
		} else {
			set.Child(conditions, v1alpha1.ReadyCondition, templates)
		}
		set.Child(conditions, v1alpha1.MongoDBServiceReadyCondition, seen.mongoDBService)
		set.Child(conditions, v1alpha1.VolumeResizedCondition, seen.volumes)
		is.ObservedGeneration, is.Volumes = store.Generation, volumesOf(db)
		if isComplete {
			is.Children = nil
		}
		for _, child := range results.Children {
			switch live := child.Live.(type) {
			case *appsv1.StatefulSet:
				is.Database = new(identityOf(live))
			case *appsv1.Deployment:
				is.Replicas = new(min(live.Status.ReadyReplicas, ptr.Deref(live.Spec.Replicas, 1)))
				is.Selector = metav1.FormatLabelSelector(live.Spec.Selector)
			}
			if live := child.Live; isComplete {
				is.Children = append(is.Children, v1alpha1.Child{Kind: operator.Kind(live), Name: live.GetName(), UID: live.GetUID()})
			}
		}
	}, status.FieldOwner(Name))
	if err != nil {
		return err
	}
	for conditionType, current := range map[string]readiness.Readiness{
		v1alpha1.DatabaseReadyCondition: seen.database, v1alpha1.AppReadyCondition: seen.app,
		v1alpha1.ReadyCondition: templates, // not rejected
	} {
		if isProblem(current, failure) {
			r.warnings.Record(store, conditionType, current)
		}
	}
	if isProblem(seen.volumes, nil) && seen.volumes.Reason != seen.database.Reason {
		r.warnings.Record(store, v1alpha1.VolumeResizedCondition, seen.volumes)
	}
	return nil
}

// progress are the reasons of conditions that may become True without intervention.
var progress = []string{
	"Unavailable", "Conflict", v1alpha1.ReasonProvisioning, v1alpha1.ReasonResizing, v1alpha1.ReasonFileSystemResizePending,
}

// isProblem reports whether current is worth an event. ensure has recorded the failure err of a child
// already, and each new pod of the database waits for its volume.
func isProblem(current readiness.Readiness, err error) bool {
	isUnbound := current.Reason == corev1.PodReasonUnschedulable &&
		strings.Contains(strings.ToLower(current.Message), "persistentvolumeclaim")
	isRecorded := err != nil && current.Reason == ensure.Reason(err)
	return !isUnbound && !isRecorded && !slices.Contains(progress, current.Reason)
}

// recordReuse records an event if the database of store has volumes that are older than store, and that the status does
// not have yet.
func (r *Reconciler) recordReuse(store *v1alpha1.BookStore, db *database) {
	var reused []string
	for _, volume := range db.volumes {
		isKnown := slices.ContainsFunc(store.Status.Volumes, func(known v1alpha1.Volume) bool { return known.UID == volume.claim.UID })
		if !isKnown && volume.claim.CreationTimestamp.Before(&store.CreationTimestamp) {
			reused = append(reused, strconv.Quote(volume.claim.Name))
		}
	}
	if len(reused) > 0 {
		r.recorder.Eventf(store, nil, corev1.EventTypeNormal, volumesReused, "Reusing", "the database uses the volumes of a former "+
			"BookStore of this name: claim %s. With retain: false, they are deleted with this BookStore", strings.Join(reused, ", "))
	}
}

// reject reports a mistake in store or in the templates, and leaves the children unchanged.
func (r *Reconciler) reject(ctx context.Context, store *v1alpha1.BookStore, err error) (reconcile.Result, error) {
	invalid := failed(err)
	reportErr := r.reportNotReady(ctx, store, invalid)
	if reportErr == nil {
		r.warnings.Record(store, v1alpha1.ReadyCondition, invalid)
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
