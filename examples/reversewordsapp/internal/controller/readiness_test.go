package controller //nolint:testpackage // tests unexported functions

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure"
)

func TestJudgeDeployment(t *testing.T) {
	available := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	rolling := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 2}
	with := func(status appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType, is corev1.ConditionStatus, reason string) appsv1.DeploymentStatus {
		status.Conditions = []appsv1.DeploymentCondition{{Type: kind, Status: is, Reason: reason}}
		return status
	}
	for _, test := range []struct {
		name       string
		status     appsv1.DeploymentStatus
		pods       []corev1.Pod
		stale      bool
		notEnsured bool
		err        error
		ready      bool
		reason     string
	}{
		{name: "all available", status: available, ready: true, reason: "Available"},
		{name: "a stale copy", status: available, stale: true, reason: "Progressing"},
		{name: "not observed", reason: "Progressing"},
		{name: "not ensured", notEnsured: true, err: errors.New("out of reach"), reason: "Unavailable"},
		{name: "the Service was not ensured", status: available, err: errors.New("out of reach"), ready: true, reason: "Available"},
		{name: "old pods serve, a new pod starts", status: rolling, pods: pods(waiting("new", "ContainerCreating")), reason: "Progressing"},
		{name: "old pods serve, a new pod cannot pull its image", status: rolling, pods: pods(waiting("new", "ImagePullBackOff")), reason: "ImagePullBackOff"},
		{
			name: "two pods with problems", status: rolling, reason: "CrashLoopBackOff",
			pods: pods(waiting("a", ""), waiting("b", "CrashLoopBackOff"), waiting("c", "ImagePullBackOff")),
		},
		{name: "an init container cannot pull its image", status: rolling, pods: pods(initializing("a", "ErrImagePull")), reason: "ErrImagePull"},
		{name: "no room on any node", status: rolling, pods: pods(unscheduled("a")), reason: "Unschedulable"},
		{name: "available, and another pod crashes", status: available, pods: pods(waiting("other", "CrashLoopBackOff")), ready: true, reason: "Available"},
		{
			name: "the deadline is exceeded", reason: "ProgressDeadlineExceeded",
			status: with(rolling, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded"),
		},
		{
			name: "the deadline is exceeded because of an image", reason: "ImagePullBackOff", pods: pods(waiting("new", "ImagePullBackOff")),
			status: with(rolling, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded"),
		},
		{
			name: "the deadline of the previous rollout was exceeded", reason: "Progressing",
			status: with(appsv1.DeploymentStatus{ObservedGeneration: 1}, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded"),
		},
		{
			name: "pods cannot be created", reason: "FailedCreate",
			status: with(rolling, appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := ensure.Result[*appsv1.Deployment]{}
			if !test.notEnsured {
				found.Operation, found.Stale = ensure.Unchanged, test.stale
				found.Live = &appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{Name: "dp-shop", Generation: 2},
					Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
					Status:     test.status,
				}
			}
			got := judgeDeployment(found, test.err, test.pods)
			require.Equal(t, test.ready, got.ready)
			require.Equal(t, test.reason, got.reason)
			require.NotEmpty(t, got.message)
		})
	}
}

func TestJudgeService(t *testing.T) {
	service := func(kind corev1.ServiceType, clusterIP string) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, ClusterIP: clusterIP}}
	}
	for _, test := range []struct {
		name   string
		live   *corev1.Service
		stale  bool
		err    error
		ready  bool
		reason string
	}{
		{name: "a load balancer with a cluster IP", live: service(corev1.ServiceTypeLoadBalancer, "10.96.0.1"), ready: true, reason: "Available"},
		{name: "a load balancer without a cluster IP", live: service(corev1.ServiceTypeLoadBalancer, ""), reason: "Progressing"},
		{name: "a stale copy", live: service(corev1.ServiceTypeClusterIP, "10.96.0.1"), stale: true, reason: "Progressing"},
		{name: "not ensured", err: errors.New("out of reach"), reason: "Unavailable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := ensure.Result[*corev1.Service]{Live: test.live, Stale: test.stale}
			if test.live != nil {
				found.Operation = ensure.Unchanged
			}
			got := judgeService(found, test.err)
			require.Equal(t, test.ready, got.ready)
			require.Equal(t, test.reason, got.reason)
			require.NotEmpty(t, got.message)
		})
	}
}

func pods(list ...corev1.Pod) []corev1.Pod { return list }

func waiting(name, reason string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{ContainerStatuses: statuses(reason)}}
}

func initializing(name, reason string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{
		InitContainerStatuses: statuses(reason), ContainerStatuses: statuses("PodInitializing"),
	}}
}

func unscheduled(name string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{
		Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}},
	}}
}

func statuses(reason string) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
}
