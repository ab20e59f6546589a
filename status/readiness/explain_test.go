package readiness_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/status/readiness"
)

func TestExplain(t *testing.T) {
	available := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	rolling := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 2}
	with := func(status appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType, is corev1.ConditionStatus, reason, message string) appsv1.DeploymentStatus {
		status.Conditions = []appsv1.DeploymentCondition{{Type: kind, Status: is, Reason: reason, Message: message}}
		return status
	}
	late := with(rolling, appsv1.DeploymentProgressing, "False", "ProgressDeadlineExceeded", "")
	refused := with(rolling, appsv1.DeploymentReplicaFailure, "True", "FailedCreate", "exceeded quota: few")
	lateAndRefused := refused
	lateAndRefused.Conditions = slices.Concat(refused.Conditions, late.Conditions)
	web := func(status appsv1.DeploymentStatus) *appsv1.Deployment { return deployment(new(int32(2)), status) }
	ofTwo := appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 2}

	for _, test := range []struct {
		name     string
		workload client.Object
		pods     []corev1.Pod
		state    readiness.State
		reason   string
		message  string
	}{
		{name: "no workload", state: readiness.InProgress, reason: "InProgress", message: "there is no object"},
		{
			name: "ready, and another pod crashes", workload: web(available), pods: pods(containerWaits("a", "CrashLoopBackOff")),
			state: readiness.Ready, reason: "Ready", message: "2 of 2 pods are available",
		},
		{
			name: "no pods", workload: web(rolling),
			state: readiness.InProgress, reason: "InProgress", message: "1 of 2 pods are updated",
		},
		{
			name: "a pod starts", workload: web(rolling), pods: pods(containerWaits("a", "ContainerCreating"), containerWaits("b", "PodInitializing")),
			state: readiness.InProgress, reason: "InProgress", message: "1 of 2 pods are updated",
		},
		{
			name: "a pod runs and is not ready", workload: web(rolling), pods: pods(corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}),
			state: readiness.InProgress, reason: "InProgress", message: "1 of 2 pods are updated",
		},
		{
			name: "an image is missing", workload: web(rolling), pods: pods(containerWaits("a", "ImagePullBackOff")),
			state: readiness.InProgress, reason: "ImagePullBackOff", message: `pod "a": container web waits: ImagePullBackOff: see there`,
		},
		{
			name: "the first pod with a problem decides", workload: web(rolling),
			pods:  pods(containerWaits("a", ""), containerWaits("b", "CrashLoopBackOff"), containerWaits("c", "ImagePullBackOff")),
			state: readiness.InProgress, reason: "CrashLoopBackOff", message: `pod "b": container web waits: CrashLoopBackOff: see there`,
		},
		{
			name: "a container that starts does not hide another", workload: web(rolling), pods: pods(containersWait("a", "ContainerCreating", "ErrImagePull")),
			state: readiness.InProgress, reason: "ErrImagePull", message: `pod "a": container web waits: ErrImagePull: see there`,
		},
		{
			name: "a crash is the most telling problem of a pod", workload: web(rolling), pods: pods(containersWait("a", "ErrImagePull", "CrashLoopBackOff")),
			state: readiness.InProgress, reason: "CrashLoopBackOff", message: `pod "a": container web waits: CrashLoopBackOff: see there`,
		},
		{
			name: "an init container has no image", workload: web(rolling), pods: pods(initContainerWaits("a", "ImagePullBackOff")),
			state: readiness.InProgress, reason: "ImagePullBackOff", message: `pod "a": container init waits: ImagePullBackOff`,
		},
		{
			name: "no node has room", workload: web(rolling), pods: pods(unscheduled("a")),
			state: readiness.InProgress, reason: "Unschedulable", message: `pod "a": it is not scheduled: Unschedulable: 0/3 nodes are available`,
		},
		{
			name: "the deadline is exceeded", workload: web(late),
			state: readiness.Failed, reason: "ProgressDeadlineExceeded", message: "the rollout does not end within its deadline: ProgressDeadlineExceeded",
		},
		{
			name: "the deadline is exceeded because of an image", workload: web(late), pods: pods(containerWaits("a", "ImagePullBackOff")),
			state: readiness.Failed, reason: "ImagePullBackOff", message: `pod "a": container web waits: ImagePullBackOff: see there`,
		},
		{
			name: "the deadline is exceeded because of a quota", workload: web(lateAndRefused),
			state: readiness.Failed, reason: "FailedCreate",
			message: "the rollout does not end within its deadline: ProgressDeadlineExceeded: FailedCreate: exceeded quota: few",
		},
		{
			name:     "the deadline of an earlier generation was exceeded",
			workload: web(with(appsv1.DeploymentStatus{ObservedGeneration: 1}, appsv1.DeploymentProgressing, "False", "ProgressDeadlineExceeded", "")),
			pods:     pods(containerWaits("a", "ImagePullBackOff")), // of the earlier generation
			state:    readiness.InProgress, reason: "InProgress", message: "its controller has looked at generation 1, and not at 2 yet",
		},
		{
			name: "a quota", workload: web(refused),
			state: readiness.InProgress, reason: "FailedCreate", message: "1 of 2 pods are updated: FailedCreate: exceeded quota: few",
		},
		{
			name: "a StatefulSet", workload: statefulSet(appsv1.StatefulSetUpdateStrategy{}, ofTwo), pods: pods(unscheduled("web-1")),
			state: readiness.InProgress, reason: "Unschedulable", message: `pod "web-1": it is not scheduled: Unschedulable: 0/3 nodes are available`,
		},
		{
			name: "a DaemonSet", workload: daemonSet(appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 1}), pods: pods(containerWaits("a", "CrashLoopBackOff")),
			state: readiness.InProgress, reason: "CrashLoopBackOff", message: `pod "a": container web waits: CrashLoopBackOff: see there`,
		},
		{
			name: "a ReplicaSet", workload: replicaSet(appsv1.ReplicaSetStatus{ObservedGeneration: 2}), pods: pods(containerWaits("a", "InvalidImageName")),
			state: readiness.InProgress, reason: "InvalidImageName", message: `pod "a": container web waits: InvalidImageName: see there`,
		},
		{
			name: "a Job", workload: job(batchv1.JobStatus{StartTime: &longAgo, Active: 1}), pods: pods(containerWaits("a", "CreateContainerConfigError")),
			state: readiness.InProgress, reason: "CreateContainerConfigError", message: `pod "a": container web waits: CreateContainerConfigError: see there`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := readerOf(test.workload, test.pods)
			want := readiness.Readiness{State: test.state, Reason: test.reason, Message: test.message}
			require.Empty(t, cmp.Diff(want, explain(t, reader, test.workload)))
			if test.workload == nil {
				return
			}
			require.Empty(t, cmp.Diff(want, explain(t, reader, untyped(t, test.workload))), "unstructured")

			test.workload.SetDeletionTimestamp(&longAgo)
			want = readiness.Readiness{State: readiness.Terminating, Reason: "Terminating", Message: "it is being deleted"}
			require.Empty(t, cmp.Diff(want, explain(t, reader, test.workload)))
		})
	}
}

// TestExplainSendsNoRequest explains objects whose pods cannot tell anything.
func TestExplainSendsNoRequest(t *testing.T) {
	odd := &unstructured.Unstructured{Object: map[string]any{"spec": "odd"}}
	odd.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	for name, obj := range map[string]client.Object{
		"ready":           daemonSet(appsv1.DaemonSetStatus{ObservedGeneration: 2}),
		"not observed":    statefulSet(appsv1.StatefulSetUpdateStrategy{}, appsv1.StatefulSetStatus{ObservedGeneration: 1}),
		"no workload":     custom(ShopStatus{ObservedGeneration: 1}),
		"another content": odd,
		"metadata alone":  &metav1.PartialObjectMetadata{},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, readiness.Of(obj), explain(t, nil, obj))
		})
	}
}

// TestExplainFails returns the readiness of the object, too.
func TestExplainFails(t *testing.T) {
	down := errors.New("out of reach")
	set := statefulSet(appsv1.StatefulSetUpdateStrategy{}, appsv1.StatefulSetStatus{ObservedGeneration: 2})
	for _, test := range []struct {
		fails client.ObjectList
		says  string
	}{
		{&corev1.PodList{}, `cannot list the pods of StatefulSet "default/web": out of reach`},
		{&corev1.EventList{}, `cannot list the events of StatefulSet "default/web": out of reach`},
	} {
		got, err := readiness.Explain(t.Context(), failingList(test.fails, down), set)
		require.ErrorIs(t, err, down)
		require.EqualError(t, err, test.says)
		require.Equal(t, readiness.Of(set), got)
	}
}

func explain(t *testing.T, reader client.Reader, obj client.Object) readiness.Readiness {
	t.Helper()
	got, err := readiness.Explain(t.Context(), reader, obj)
	require.NoError(t, err)
	return got
}

// readerOf returns a client with the pods of a workload. The pods of a Deployment belong to a ReplicaSet.
func readerOf(workload client.Object, pods []corev1.Pod) client.Reader {
	controller, objs := "web", []runtime.Object(nil)
	if _, ok := workload.(*appsv1.Deployment); ok {
		controller, objs = "new", append(objs, replicaSetOf("new", "web"))
	}
	for _, pod := range pods {
		pod.ObjectMeta = controlled(pod.Name, controller)
		objs = append(objs, &pod)
	}
	return fake.NewFakeClient(objs...)
}

func pods(list ...corev1.Pod) []corev1.Pod { return list }

func containerWaits(name, reason string) corev1.Pod { return containersWait(name, reason) }

// containersWait returns a pod whose containers wait for these reasons.
func containersWait(name string, reasons ...string) corev1.Pod {
	out := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	for _, reason := range reasons {
		out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, waiting("web", reason, "see there"))
	}
	return out
}

func initContainerWaits(name, reason string) corev1.Pod {
	out := containersWait(name, "PodInitializing")
	out.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("init", reason, "")}
	return out
}

func unscheduled(name string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{
		Phase: corev1.PodPending,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"},
		},
	}}
}
