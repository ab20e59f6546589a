package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/status/readiness"
)

// restart deletes a pod of the database if the file system has waited long enough for a resize, and if
// store allows restarts. The set creates the pod again. restart returns the time until the next possible
// restart, or zero.
//
// Only one pod at a time is deleted, while all others are ready. A pod that started after the volume had
// grown is not deleted, because a restart did not help. A pod whose claim is being deleted is not deleted,
// because the data would be lost.
func (r *Reconciler) restart(
	ctx context.Context, store *v1alpha1.BookStore, db *database, set ensure.Result[*appsv1.StatefulSet],
) (time.Duration, error) {
	if !store.Spec.BookDB.RestartForResize || set.Live == nil || set.Stale {
		return 0, nil
	}
	var soonest time.Duration
	for _, volume := range db.volumes {
		pending := volume.condition(corev1.PersistentVolumeClaimFileSystemResizePending)
		if pending == nil || volume.claim.DeletionTimestamp != nil || volume.pod == nil ||
			volume.pod.CreationTimestamp.After(pending.LastTransitionTime.Time) ||
			!db.othersReady(volume.pod, ptr.Deref(set.Live.Spec.Replicas, 1)) {
			continue
		}
		wait := time.Until(pending.LastTransitionTime.Add(r.restartAfter))
		if wait <= 0 {
			return 0, r.delete(ctx, volume.pod)
		}
		if soonest == 0 || wait < soonest {
			soonest = wait
		}
	}
	return soonest, nil
}

// othersReady reports whether all replicas except pod exist and are ready. The status of the set may be
// outdated.
func (db *database) othersReady(pod *corev1.Pod, replicas int32) bool {
	ready := int32(1)
	for i := range db.pods {
		if db.pods[i].UID != pod.UID && readiness.Of(&db.pods[i]).State == readiness.Ready {
			ready++
		}
	}
	return ready >= replicas
}

// delete deletes a pod or a claim. The UID, unless options have other preconditions, protects a new object of the same
// name.
func (r *Reconciler) delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	log.FromContext(ctx).Info("deleting", "kind", operator.Kind(obj), "name", obj.GetName())
	uid := obj.GetUID()
	options = append([]client.DeleteOption{client.Preconditions{UID: &uid}}, options...)
	return client.IgnoreNotFound(r.client.Delete(ctx, obj, options...))
}
