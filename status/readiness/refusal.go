package readiness

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReasonFailedCreate is the reason of the events about a workload whose pods, or whose volume claims, the
// API server refuses. A condition ReplicaFailure has the same reason.
const ReasonFailedCreate = "FailedCreate"

// Refusal returns the API server's message if it refuses to create a pod or a claim of set, for example
// because of a quota or of pod security, and otherwise "". A StatefulSet has no condition for this: its
// controller only records an event.
//
// Events stay for an hour after a refusal has ended. So an event counts only if pods are missing, and if
// the event is not older than set, than the last change of its spec or metadata, than the newest of pods,
// and than since. pods are those that Pods returns; since is when set was last ready, or the zero time.
//
// Refusal lists the events in the namespace of set. With a manager's client, they come from the cache: the
// operator needs the verbs list and watch for events in the core group, and should limit the cache to
// those that count:
//
//	&corev1.Event{}: {Field: fields.SelectorFromSet(fields.Set{
//		"involvedObject.kind": "StatefulSet", "reason": readiness.ReasonFailedCreate,
//	})}
//
// To reconcile when the result changes, watch events.
func Refusal(
	ctx context.Context, reader client.Reader, set *appsv1.StatefulSet, pods []corev1.Pod, since time.Time,
) (string, error) {
	if set == nil || set.Status.Replicas >= wantedReplicas(set.Spec.Replicas) {
		return "", nil
	}
	var events corev1.EventList
	if err := reader.List(ctx, &events, client.InNamespace(set.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("cannot list the events of StatefulSet %q: %w", client.ObjectKeyFromObject(set), err)
	}
	message, newest := "", slices.MaxFunc([]time.Time{since, lastChange(set), newestOf(pods)}, time.Time.Compare)
	for i := range events.Items {
		event := &events.Items[i]
		isRefusal := event.InvolvedObject.UID == set.UID && event.Reason == ReasonFailedCreate
		if occurred := lastOccurred(event); isRefusal && !occurred.Before(newest) {
			message, newest = event.Message, occurred
		}
	}
	return message, nil
}

// lastChange returns when somebody last changed the spec or the metadata of set.
func lastChange(set *appsv1.StatefulSet) time.Time {
	latest := set.CreationTimestamp.Time
	for _, entry := range set.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(latest) {
			latest = entry.Time.Time
		}
	}
	return latest
}

// newestOf returns when the newest of pods was created.
func newestOf(pods []corev1.Pod) time.Time {
	var newest time.Time
	for i := range pods {
		if created := pods[i].CreationTimestamp.Time; created.After(newest) {
			newest = created
		}
	}
	return newest
}

// lastOccurred returns when the event last occurred. The field depends on the API that the reporter used.
func lastOccurred(event *corev1.Event) time.Time {
	times := []time.Time{event.LastTimestamp.Time, event.EventTime.Time}
	if event.Series != nil {
		times = append(times, event.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(times, time.Time.Compare)
}
