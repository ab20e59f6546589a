package readiness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/status/readiness"
)

// TestRefusal has a StatefulSet of two replicas with one pod, and an event about the other. The event occurred
// a second ago.
func TestRefusal(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	at := func(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago)) }
	type scene struct {
		set   *appsv1.StatefulSet
		pod   *corev1.Pod
		event *corev1.Event
		since time.Time
	}
	const refused = "exceeded quota"
	for _, test := range []struct {
		name   string
		change func(*scene)
		want   string
	}{
		{name: "refused", change: func(*scene) {}, want: refused},
		{name: "all pods exist", change: func(s *scene) { s.set.Status.Replicas = 2 }},
		{name: "an event about an earlier set", change: func(s *scene) { s.event.InvolvedObject.UID = "old" }},
		{name: "another event", change: func(s *scene) { s.event.Reason = "FailedUpdate" }},
		{name: "an event in another namespace", change: func(s *scene) { s.event.Namespace = "other" }},
		{name: "an event before the set was created", change: func(s *scene) { s.set.CreationTimestamp = at(0) }},
		{name: "an event before a pod was created", change: func(s *scene) { s.pod.CreationTimestamp = at(0) }},
		{name: "an event before the set was ready", change: func(s *scene) { s.since = now }},
		{name: "an event when the set was ready", change: func(s *scene) { s.since = now.Add(-time.Second) }, want: refused},
		{name: "an event before the set was changed", change: func(s *scene) {
			s.set.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(at(0))}}
		}},
		{name: "an event before the status of the set was changed", change: func(s *scene) {
			s.set.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(at(0)), Subresource: "status"}, {}}
		}, want: refused},
		{name: "the event occurred again", change: func(s *scene) {
			s.pod.CreationTimestamp, s.event.LastTimestamp = at(0), metav1.Time{}
			s.event.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(now)}
		}, want: refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &scene{
				set: &appsv1.StatefulSet{
					ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "shop", UID: "set", CreationTimestamp: at(time.Hour)},
					Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(2))},
					Status:     appsv1.StatefulSetStatus{Replicas: 1},
				},
				pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(time.Hour)}},
				event: &corev1.Event{
					ObjectMeta:     metav1.ObjectMeta{Namespace: "mall", Name: "event"},
					InvolvedObject: corev1.ObjectReference{UID: "set"},
					Reason:         readiness.ReasonFailedCreate, Message: refused, LastTimestamp: at(time.Second),
				},
			}
			test.change(s)
			c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(s.event).Build()
			got, err := readiness.Refusal(t.Context(), c, s.set, []corev1.Pod{*s.pod}, s.since)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
	got, err := readiness.Refusal(t.Context(), nil, nil, nil, now)
	require.NoError(t, err)
	require.Empty(t, got)
}

// TestNewestRefusal returns the message of the last event.
func TestNewestRefusal(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	event := func(name string, ago time.Duration) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: name}, Message: name,
			InvolvedObject: corev1.ObjectReference{UID: "set"}, Reason: readiness.ReasonFailedCreate, LastTimestamp: metav1.NewTime(now.Add(-ago)),
		}
	}
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).
		WithObjects(event("a", time.Minute), event("b", time.Second), event("c", time.Hour)).Build()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "shop", UID: "set"}}
	got, err := readiness.Refusal(t.Context(), c, set, nil, time.Time{})
	require.NoError(t, err)
	require.Equal(t, "b", got)
}

// TestRefusalWithoutRights returns the error of the list.
func TestRefusalWithoutRights(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	_, err := readiness.Refusal(t.Context(), c, &appsv1.StatefulSet{}, nil, time.Time{})
	require.ErrorContains(t, err, "cannot list the events of StatefulSet")
}
