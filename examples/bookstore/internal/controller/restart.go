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
)

// restart deletes a pod of the database, which the set creates again, if a file system has waited
// long enough for a resize and store allows restarts. It returns the time until the next possible
// restart; zero means that none is known.
//
// One pod at a time is deleted, while all others are ready. A pod that started after the volume had
// grown is not deleted, as a restart did not help. A pod whose claim is being deleted is not
// deleted either, as the data would be lost.
func (r *Reconciler) restart(
	ctx context.Context, store *v1alpha1.BookStore, db *database, set ensure.Result[*appsv1.StatefulSet],
) (time.Duration, error) {
	if !store.Spec.BookDB.RestartForResize || set.Live == nil || set.Stale {
		return 0, nil
	}
	var soonest time.Duration
	for _, volume := range db.volumes {
		since := volume.since()
		if since.IsZero() || volume.isGoing() || volume.pod == nil || volume.pod.CreationTimestamp.After(since.Time) {
			continue
		}
		wait := time.Until(since.Add(r.restartAfter))
		switch {
		case !db.allReadyBut(volume.pod, ptr.Deref(set.Live.Spec.Replicas, 1)):
			continue
		case wait <= 0:
			return 0, r.delete(ctx, volume.pod)
		}
		if soonest == 0 || wait < soonest {
			soonest = wait
		}
	}
	return soonest, nil
}

// allReadyBut reports whether all pods that are to run are there and ready, but for one. The
// status of the set may not have heard yet of one that is gone.
func (db *database) allReadyBut(pod *corev1.Pod, replicas int32) bool {
	ready := int32(1)
	for i := range db.pods {
		if db.pods[i].UID != pod.UID && isReady(&db.pods[i]) {
			ready++
		}
	}
	return ready >= replicas
}

// delete deletes this pod or claim, but no other one of that name.
func (r *Reconciler) delete(ctx context.Context, obj client.Object) error {
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	log.FromContext(ctx).Info("deleting", "kind", operator.Kind(obj), "name", obj.GetName())
	uid := obj.GetUID()
	return client.IgnoreNotFound(r.client.Delete(ctx, obj, client.Preconditions{UID: &uid}))
}
