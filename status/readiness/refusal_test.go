package readiness_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/status/readiness"
)

// TestExplainRefusal has a StatefulSet of three replicas with one pod, and an event about another. The
// event occurred a second ago.
func TestExplainRefusal(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	at := func(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago)) }
	type scene struct {
		set   *appsv1.StatefulSet
		pod   *corev1.Pod
		event *corev1.Event
		other *corev1.Event // about the same set
	}
	const missing = "1 of 3 pods are created"
	const refused = missing + ": FailedCreate: exceeded quota"
	for _, test := range []struct {
		name   string
		change func(*scene)
		want   string
	}{
		{name: "refused", change: func(*scene) {}, want: refused},
		{name: "all pods exist", change: func(s *scene) { s.set.Status.Replicas = 3 }, want: "0 of 3 pods are ready"},
		{name: "a pod has a problem", want: `pod "web-0": container web waits: ErrImagePull`, change: func(s *scene) {
			s.pod.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("web", "ErrImagePull", "")}
		}},
		{name: "an event about an earlier set", change: func(s *scene) { s.event.InvolvedObject.UID = "old" }, want: missing},
		{name: "another event", change: func(s *scene) { s.event.Reason = "FailedUpdate" }, want: missing},
		{name: "an event in another namespace", change: func(s *scene) { s.event.Namespace = "other" }, want: missing},
		{name: "an event before the set was created", change: func(s *scene) { s.set.CreationTimestamp = at(0) }, want: missing},
		{name: "an event before a pod was created", change: func(s *scene) { s.pod.CreationTimestamp = at(0) }, want: missing},
		{name: "an event before a pod was created that is gone", want: missing, change: func(s *scene) {
			s.other.Reason, s.other.LastTimestamp = "SuccessfulCreate", at(0)
		}},
		{name: "a pod was created before", want: refused, change: func(s *scene) {
			s.other.Reason, s.other.LastTimestamp = "SuccessfulCreate", at(time.Minute)
		}},
		{name: "an event before the set was changed", want: missing, change: func(s *scene) {
			s.set.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(at(0))}}
		}},
		{name: "an event before the status of the set was changed", want: refused, change: func(s *scene) {
			s.set.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(at(0)), Subresource: "status"}, {}}
		}},
		{name: "an event before the set was scaled", want: missing, change: func(s *scene) {
			s.set.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(at(0)), Subresource: "scale"}}
		}},
		{name: "the pod was created in the same second", want: missing, change: func(s *scene) {
			s.pod.CreationTimestamp, s.event.Message = at(time.Second), "create Pod web-0 in StatefulSet web failed error: exceeded quota"
		}},
		{name: "another pod was created in the same second", want: missing + ": FailedCreate: no Pod web-1", change: func(s *scene) {
			s.pod.CreationTimestamp, s.event.Message = at(time.Second), "no Pod web-1"
		}},
		{name: "the event occurred again", want: refused, change: func(s *scene) {
			s.pod.CreationTimestamp, s.event.LastTimestamp = at(0), metav1.Time{}
			s.event.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(now)}
		}},
		{name: "the last attempt", want: missing + ": FailedCreate: another", change: func(s *scene) {
			s.event.LastTimestamp, s.other.LastTimestamp = at(10*time.Second), at(0)
		}},
		{name: "two events of one attempt", want: refused, change: func(s *scene) { s.other.LastTimestamp = at(0) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &scene{
				set:   statefulSet(appsv1.StatefulSetUpdateStrategy{}, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 1}),
				pod:   podOf("web-0", "web", corev1.PodPending),
				event: eventAbout("web", "a", "exceeded quota", at(time.Second)),
				other: eventAbout("web", "b", "another", at(2*time.Hour)),
			}
			s.set.CreationTimestamp, s.pod.CreationTimestamp = at(time.Hour), at(time.Hour)
			test.change(s)
			got := explain(t, fake.NewFakeClient(s.pod, s.event, s.other), s.set)
			require.Equal(t, readiness.InProgress, got.State)
			require.Equal(t, test.want, got.Message)
			require.Equal(t, strings.Contains(test.want, "FailedCreate"), got.Reason == "FailedCreate")
		})
	}
}

// eventAbout returns an event FailedCreate about a StatefulSet.
func eventAbout(uid types.UID, name, message string, last metav1.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: name},
		InvolvedObject: corev1.ObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "default", Name: "web", UID: uid},
		Reason:         "FailedCreate", Message: message, LastTimestamp: last,
	}
}
