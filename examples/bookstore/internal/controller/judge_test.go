package controller //nolint:testpackage // tests unexported functions

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

func TestJudge(t *testing.T) {
	service := ensure.Result[client.Object]{Operation: ensure.Unchanged, Live: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "front"}}}
	set := ensure.Result[client.Object]{Operation: ensure.Created, Live: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Generation: 1}}}
	stale := service
	stale.Stale = true
	for _, test := range []struct {
		name            string
		children        []ensure.Result[client.Object]
		err             error
		reason, message string
	}{
		{name: "ready", children: []ensure.Result[client.Object]{service}, reason: "Ready", message: "all is ready"},
		{name: "ready, although a later child failed", children: []ensure.Result[client.Object]{service}, err: errors.New("down"), reason: "Ready"},
		{name: "not ensured", children: []ensure.Result[client.Object]{service, {}}, err: errors.New("down"), reason: "Unavailable", message: "down"},
		{name: "in progress", children: []ensure.Result[client.Object]{service, set}, reason: "InProgress", message: `StatefulSet "db": `},
		{
			name: "the first counts", children: []ensure.Result[client.Object]{set, {}}, err: errors.New("down"),
			reason: "InProgress", message: `StatefulSet "db": `,
		},
		{
			name: "stale", children: []ensure.Result[client.Object]{stale},
			reason: "InProgress", message: `Service "front": the cache does not show the last write yet`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, r := reconcilerWith(t, defaultNames)
			got, err := r.judge(t.Context(), shop(), test.children, test.err)
			require.NoError(t, err)
			require.Equal(t, test.reason, got.Reason)
			require.Contains(t, got.Message, test.message)
		})
	}
}

// TestJudgeDatabase has a StatefulSet of two replicas with one pod, and an event about the other. The event
// occurred two seconds ago.
func TestJudgeDatabase(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	at := func(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago)) }
	for _, test := range []struct {
		name            string
		waits           string // why the container of the pod waits
		status          metav1.ConditionStatus
		since           time.Duration // how long the condition DatabaseReady has had this status
		reason, message string
	}{
		{name: "refused", reason: "FailedCreate", message: `StatefulSet "shop-mongodb": exceeded quota`},
		{name: "an image is missing", waits: "ImagePullBackOff", reason: "ImagePullBackOff", message: `StatefulSet "shop-mongodb": pod "shop-mongodb-0"`},
		{name: "refused before the database was ready", status: metav1.ConditionTrue, since: time.Second, reason: "InProgress"},
		{name: "refused while the database was ready", status: metav1.ConditionTrue, since: time.Minute, reason: "FailedCreate"},
		{name: "refused just before the database was no longer ready", status: metav1.ConditionFalse, since: time.Second, reason: "FailedCreate"},
		{name: "refused long before the database was no longer ready", status: metav1.ConditionFalse, since: -eventLead, reason: "InProgress"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := shop()
			if test.status != "" {
				store.Status.Conditions = []metav1.Condition{
					{Type: v1alpha1.DatabaseReadyCondition, Status: test.status, LastTransitionTime: at(test.since)},
				}
			}
			set, pod := shopSet(t, store), shopPod("shop-mongodb-0", "set", firstClaim)
			set.CreationTimestamp, set.Status = at(time.Hour), appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 1}
			pod.CreationTimestamp, pod.Status.Phase = at(time.Hour), corev1.PodPending
			if test.waits != "" {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "mongodb", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: test.waits}},
				}}
			}
			event := &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: "mall", Name: "event"},
				InvolvedObject: corev1.ObjectReference{UID: set.UID},
				Reason:         "FailedCreate", Message: "exceeded quota", LastTimestamp: at(2 * time.Second),
			}
			_, r := reconcilerWith(t, defaultNames, store, set, pod, event)
			got, err := r.judge(t.Context(), store, []ensure.Result[client.Object]{{Operation: ensure.Unchanged, Live: set}}, nil)
			require.NoError(t, err)
			require.Equal(t, test.reason, got.Reason)
			require.Contains(t, got.Message, test.message)
		})
	}
}

func TestIsProblem(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for _, test := range []struct {
		name, reason, message string
		err                   error
		want                  bool
	}{
		{name: "an image", reason: "ImagePullBackOff", want: true},
		{name: "an image, and another child that is forbidden", reason: "ImagePullBackOff", err: forbidden, want: true},
		{name: "recorded by ensure", reason: "Forbidden", err: forbidden},
		{name: "no node", reason: "Unschedulable", message: "0/1 nodes are available", want: true},
		{name: "no volume yet", reason: "Unschedulable", message: "pod has unbound immediate PersistentVolumeClaims"},
		{name: "volumes grow", reason: v1alpha1.ReasonResizing},
		{name: "the API server does not answer", reason: "Unavailable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, isProblem(notReady(test.reason, test.message), test.err))
		})
	}
}
