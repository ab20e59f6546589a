package readiness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/consistency"
)

// Reasons of the events that the controller of a StatefulSet records for each pod and each claim. A
// condition ReplicaFailure has the former, too.
const (
	reasonFailedCreate     = "FailedCreate"
	reasonSuccessfulCreate = "SuccessfulCreate"
)

// attemptSpan is the longest time between the events about one attempt: the controller may record an event
// for the claim and one for the pod.
const attemptSpan = 2 * time.Second

// refusalOf returns the API server's message if it refuses to create a pod or a claim of set, and
// otherwise "". A StatefulSet has no condition for this: its controller only records an event.
//
// Events stay for an hour after a refusal has ended. So an event counts only if pods are missing, if the
// event is about none of pods, and if it is not older than set, than the last change of its spec or
// metadata, than the newest of pods, and than the last pod or claim that was created. The time of the last
// change comes from the managed fields, which a cache may not have.
//
// client-go records 25 events of one type about an object, and then one every five minutes. So the last
// creation may be missing, and so may a refusal after a change.
func refusalOf(ctx context.Context, reader client.Reader, set *appsv1.StatefulSet, pods []corev1.Pod) (string, error) {
	if set.Status.Replicas >= wantedReplicas(set.Spec.Replicas) {
		return "", nil
	}
	var events corev1.EventList
	if err := reader.List(ctx, &events, client.InNamespace(set.Namespace), client.UnsafeDisableDeepCopy, consistency.Off); err != nil {
		return "", fmt.Errorf("cannot list the events of StatefulSet %q: %w", client.ObjectKeyFromObject(set), err)
	}
	since := latest(lastChange(set), newestOf(pods))
	var refusals []*corev1.Event
	for i := range events.Items {
		switch event := &events.Items[i]; {
		case event.InvolvedObject.UID != set.UID:
		case event.Reason == reasonSuccessfulCreate:
			since = latest(since, lastOccurred(event))
		case event.Reason == reasonFailedCreate && !isAbout(event, pods):
			refusals = append(refusals, event)
		}
	}
	return lastRefusal(refusals, since), nil
}

// isAbout reports whether an event is about the creation of one of pods, which has succeeded since: the
// times of events and pods have seconds only.
func isAbout(event *corev1.Event, pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		return strings.Contains(event.Message, " Pod "+pod.Name+" in StatefulSet ")
	})
}

// lastRefusal returns the message of the last attempt, or "" if it was before since. Among the events of an
// attempt, it always chooses the same one.
func lastRefusal(refusals []*corev1.Event, since time.Time) string {
	var last time.Time
	for _, event := range refusals {
		last = latest(last, lastOccurred(event))
	}
	if len(refusals) == 0 || last.Before(since) {
		return ""
	}
	ofAttempt := slices.DeleteFunc(refusals, func(event *corev1.Event) bool {
		return lastOccurred(event).Before(latest(since, last.Add(-attemptSpan)))
	})
	return slices.MinFunc(ofAttempt, func(a, b *corev1.Event) int { return cmp.Compare(a.Name, b.Name) }).Message
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lastChange returns when somebody last changed the spec or the metadata of set.
func lastChange(set *appsv1.StatefulSet) time.Time {
	last := set.CreationTimestamp.Time
	for _, entry := range set.ManagedFields {
		if entry.Subresource != "status" && entry.Time != nil { // scale changes the spec, too
			last = latest(last, entry.Time.Time)
		}
	}
	return last
}

// newestOf returns when the newest of pods was created.
func newestOf(pods []corev1.Pod) time.Time {
	var newest time.Time
	for i := range pods {
		newest = latest(newest, pods[i].CreationTimestamp.Time)
	}
	return newest
}

// lastOccurred returns when the event last occurred. The field depends on the API that the reporter used.
func lastOccurred(event *corev1.Event) time.Time {
	last := latest(event.LastTimestamp.Time, event.EventTime.Time)
	if event.Series != nil {
		last = latest(last, event.Series.LastObservedTime.Time)
	}
	return last
}
