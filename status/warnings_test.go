package status_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

func TestWarnings(t *testing.T) {
	ready := readiness.Readiness{State: readiness.Ready, Reason: "Ready", Message: "it is ready"}
	progress := readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "1 of 2 pods are ready"}
	hindered := func(reason, message string) readiness.Readiness {
		return readiness.Readiness{State: readiness.InProgress, Reason: reason, Message: message}
	}
	failed := func(reason, message string) readiness.Readiness {
		return readiness.Readiness{State: readiness.Failed, Reason: reason, Message: message}
	}
	for _, test := range []struct {
		name     string
		children []readiness.Readiness
		want     []string
	}{
		{name: "ready", children: []readiness.Readiness{ready}},
		{name: "in progress", children: []readiness.Readiness{progress, hindered("", "under way")}},
		{name: "being deleted", children: []readiness.Readiness{{State: readiness.Terminating, Reason: "Terminating"}}},
		{
			name:     "a problem is recorded once, whatever the message of the next attempt",
			children: []readiness.Readiness{hindered("CrashLoopBackOff", "back-off 10s"), hindered("CrashLoopBackOff", "back-off 20s")},
			want:     []string{"Warning CrashLoopBackOff back-off 10s"},
		},
		{
			name:     "a container runs between two crashes",
			children: []readiness.Readiness{hindered("CrashLoopBackOff", "back-off 10s"), progress, hindered("CrashLoopBackOff", "back-off 20s")},
			want:     []string{"Warning CrashLoopBackOff back-off 10s"},
		},
		{
			name:     "a kubelet reports two reasons in turn",
			children: []readiness.Readiness{hindered("ErrImagePull", "not found"), hindered("ImagePullBackOff", "back-off"), hindered("ErrImagePull", "not found")},
			want:     []string{"Warning ErrImagePull not found"},
		},
		{
			name:     "another problem, and the first again",
			children: []readiness.Readiness{hindered("Unschedulable", "no node"), hindered("FailedCreate", "quota"), hindered("Unschedulable", "no node")},
			want:     []string{"Warning Unschedulable no node", "Warning FailedCreate quota"},
		},
		{
			name:     "a problem returns soon after the child was ready",
			children: []readiness.Readiness{hindered("FailedCreate", "quota"), ready, hindered("FailedCreate", "quota")},
			want:     []string{"Warning FailedCreate quota"},
		},
		{
			name:     "a child that has failed has another message",
			children: []readiness.Readiness{failed("InvalidTemplate", "line 1"), failed("InvalidTemplate", "line 1"), failed("InvalidTemplate", "line 2")},
			want:     []string{"Warning InvalidTemplate line 1", "Warning InvalidTemplate line 2"},
		},
		{
			name:     "a child fails for the recorded reason, with the same message",
			children: []readiness.Readiness{hindered("Unschedulable", "no node"), failed("Unschedulable", "no node"), hindered("Unschedulable", "no node")},
			want:     []string{"Warning Unschedulable no node"},
		},
		{
			name:     "the deadline is exceeded",
			children: []readiness.Readiness{hindered("FailedCreate", "quota"), failed("FailedCreate", "too late: quota")},
			want:     []string{"Warning FailedCreate quota", "Warning FailedCreate too late: quota"},
		},
		{name: "without a reason", children: []readiness.Readiness{failed("", "broken")}, want: []string{"Warning Failed broken"}},
		{
			name: "a reason and a message that the API server would refuse", children: []readiness.Readiness{failed("out of stock", strings.Repeat("é", 600))},
			want: []string{"Warning outOfStock reason \"out of stock\": " + strings.Repeat("é", 499) + "…"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(10)
			warnings := status.NewWarnings(recorder)
			for _, child := range test.children {
				warnings.Record(&Shop{}, "Deployed", child)
			}
			require.Equal(t, test.want, recorded(recorder))
		})
	}
}

// TestWarningsOfADay: pods that crash every 5 minutes and are ready in between are one event an hour, and a problem that stays
// is one event.
func TestWarningsOfADay(t *testing.T) {
	crash := readiness.Readiness{State: readiness.InProgress, Reason: "CrashLoopBackOff", Message: "back-off"}
	refused := readiness.Readiness{State: readiness.Failed, Reason: "Refused", Message: "quota"}
	for name, test := range map[string]struct {
		problem readiness.Readiness
		between readiness.State
		want    int
	}{
		"crashes between which the pod is ready":     {crash, readiness.Ready, 24},
		"crashes between which the pod is not ready": {crash, readiness.InProgress, 1},
		"failures that are retried":                  {refused, readiness.Ready, 24},
		"a failure that stays":                       {refused, readiness.Failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorder := events.NewFakeRecorder(300)
				warnings := status.NewWarnings(recorder)
				for range 24 * 12 {
					warnings.Record(&Shop{}, "Deployed", test.problem)
					<-time.After(time.Minute)
					if test.between != test.problem.State {
						warnings.Record(&Shop{}, "Deployed", readiness.Readiness{State: test.between, Reason: string(test.between)})
					}
					<-time.After(4 * time.Minute)
				}
				require.Len(t, recorded(recorder), test.want)
			})
		})
	}
}

// TestWarningsAreBounded has a child fail with another message each time.
func TestWarningsAreBounded(t *testing.T) {
	recorder := events.NewFakeRecorder(100)
	warnings := status.NewWarnings(recorder)
	for i := range 100 {
		warnings.Record(&Shop{}, "Deployed", readiness.Readiness{State: readiness.Failed, Reason: "Refused", Message: strconv.Itoa(i)})
	}
	require.Len(t, recorded(recorder), 16)
}

// TestWarningsOfOthers records the problem of each child and of each object.
func TestWarningsOfOthers(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	warnings := status.NewWarnings(recorder)
	crash := readiness.Readiness{State: readiness.InProgress, Reason: "CrashLoopBackOff", Message: "back-off"}
	one := &Shop{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "1"}}
	warnings.Record(one, "Deployed", crash)
	warnings.Record(one, "Stocked", crash)
	warnings.Record(&Shop{ObjectMeta: metav1.ObjectMeta{Name: "two"}}, "Deployed", crash)
	warnings.Record(&Shop{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "2"}}, "Deployed", crash)
	warnings.Record(one, "Deployed", crash)
	require.Len(t, recorded(recorder), 4)
}

// TestWarningsWithoutARecorder records nothing, and does not panic.
func TestWarningsWithoutARecorder(t *testing.T) {
	crash := readiness.Readiness{State: readiness.Failed}
	status.NewWarnings(nil).Record(&Shop{}, "Deployed", crash)
	recorder := events.NewFakeRecorder(1)
	status.NewWarnings(recorder).Record((*Shop)(nil), "Deployed", crash)
	require.Empty(t, recorded(recorder))
}

func recorded(recorder *events.FakeRecorder) []string {
	close(recorder.Events)
	var all []string
	for event := range recorder.Events {
		all = append(all, event)
	}
	return all
}
