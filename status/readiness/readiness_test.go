package readiness_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/status/readiness"
)

// generation is what objects of the cases have; their status is of it, unless a case
// says otherwise.
var generation = metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web", Generation: 2}

var shopSelector = &metav1.LabelSelector{MatchLabels: shopLabels}

func deployment(replicas *int32, s appsv1.DeploymentStatus) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: generation, Spec: appsv1.DeploymentSpec{Replicas: replicas, Selector: shopSelector}, Status: s}
}

func statefulSet(strategy appsv1.StatefulSetUpdateStrategy, s appsv1.StatefulSetStatus) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: generation, Status: s,
		Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), Selector: shopSelector, UpdateStrategy: strategy},
	}
}

func daemonSet(s appsv1.DaemonSetStatus) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: generation, Spec: appsv1.DaemonSetSpec{Selector: shopSelector}, Status: s}
}

func replicaSet(s appsv1.ReplicaSetStatus) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: generation, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2)), Selector: shopSelector}, Status: s}
}

func pod(s corev1.PodStatus) *corev1.Pod { return &corev1.Pod{ObjectMeta: generation, Status: s} }

func job(s batchv1.JobStatus) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: generation, Spec: batchv1.JobSpec{Selector: shopSelector}, Status: s}
}

func jobIs(conditionType batchv1.JobConditionType, value corev1.ConditionStatus) batchv1.JobStatus {
	return batchv1.JobStatus{Conditions: []batchv1.JobCondition{
		{Type: conditionType, Status: value, Reason: "BackoffLimitExceeded", Message: "too many"},
	}}
}

func claim(wanted string, s corev1.PersistentVolumeClaimStatus) *corev1.PersistentVolumeClaim {
	out := &corev1.PersistentVolumeClaim{ObjectMeta: generation, Status: s}
	out.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(wanted)}
	return out
}

func bound(capacity string, conditions ...corev1.PersistentVolumeClaimCondition) corev1.PersistentVolumeClaimStatus {
	return corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, Conditions: conditions,
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)},
	}
}

func definition(conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: generation, Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: conditions},
	}
}

func custom(s ShopStatus) *Shop { return &Shop{ObjectMeta: generation, Status: s} }

func waiting(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}

func TestOf(t *testing.T) {
	onDelete := appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	rolling := appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	lastOnly := appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}}
	beyond := appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(7))}}
	paused := deployment(new(int32(0)), appsv1.DeploymentStatus{ObservedGeneration: 2})
	paused.Spec.Paused = true
	balanced := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	balancedWithIP := balanced.DeepCopy()
	balancedWithIP.Spec.ClusterIP = "10.96.0.7"
	established := func(value apiextensionsv1.ConditionStatus, reason string) apiextensionsv1.CustomResourceDefinitionCondition {
		return apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: value, Reason: reason}
	}
	oldDefinition := definition(established("True", ""))
	oldDefinition.Status.ObservedGeneration = 1
	crashing := []corev1.ContainerStatus{waiting("web", "CrashLoopBackOff", "back-off 10s")}
	running := corev1.PodStatus{Phase: corev1.PodRunning}

	for _, test := range []struct {
		name  string
		obj   client.Object
		state readiness.State
		why   string
	}{
		{"Deployment nobody looked at", deployment(new(int32(0)), appsv1.DeploymentStatus{}), readiness.InProgress, "its controller has not looked at it yet"},
		{
			"Deployment of an earlier generation", deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1}),
			readiness.InProgress, "its controller has looked at generation 1, and not at 2 yet",
		},
		{
			"Deployment of a later generation", deployment(new(int32(0)), appsv1.DeploymentStatus{ObservedGeneration: 3}),
			readiness.InProgress, "its controller has looked at generation 3, and not at 2 yet",
		},
		{
			"Deployment without pods", deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2}),
			readiness.InProgress, "0 of 1 pods are created",
		},
		{
			"Deployment whose pods are refused",
			deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota",
			}}}),
			readiness.InProgress, "0 of 1 pods are created: FailedCreate: exceeded quota",
		},
		{
			"Deployment with an old pod", deployment(new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 1}),
			readiness.InProgress, "1 of 2 pods are updated",
		},
		{
			"Deployment whose other conditions explain nothing",
			deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated"},
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionFalse, Reason: "FailedCreate"},
			}}),
			readiness.InProgress, "0 of 1 pods are updated",
		},
		{
			"Deployment with a pod more", deployment(new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 2}),
			readiness.InProgress, "1 pod too many",
		},
		{
			"Deployment with a pod that is not available",
			deployment(new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 1}),
			readiness.InProgress, "1 of 2 pods are available",
		},
		{
			"Deployment with a pod that is no longer ready",
			deployment(new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 2}),
			readiness.InProgress, "1 of 2 pods are ready",
		},
		{"Deployment paused", paused, readiness.InProgress, "it is paused"},
		{
			"Deployment beyond its deadline",
			deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
			}}}),
			readiness.Failed, "the rollout does not end within its deadline: ProgressDeadlineExceeded",
		},
		{
			"Deployment beyond its deadline, whose pods are refused",
			deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "too late"},
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"},
			}}),
			readiness.Failed,
			"the rollout does not end within its deadline: ProgressDeadlineExceeded: too late: FailedCreate: exceeded quota",
		},
		{
			"Deployment available",
			deployment(new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}),
			readiness.Ready, "2 of 2 pods are available",
		},
		{"Deployment of none", deployment(new(int32(0)), appsv1.DeploymentStatus{ObservedGeneration: 2}), readiness.Ready, "0 of 0 pods are available"},

		{"StatefulSet nobody looked at", statefulSet(onDelete, appsv1.StatefulSetStatus{}), readiness.InProgress, "its controller has not looked at it yet"},
		{
			"StatefulSet of an earlier generation", statefulSet(rolling, appsv1.StatefulSetStatus{ObservedGeneration: 1}),
			readiness.InProgress, "its controller has looked at generation 1, and not at 2 yet",
		},
		{
			"StatefulSet of a later generation",
			statefulSet(rolling, appsv1.StatefulSetStatus{ObservedGeneration: 3, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 3}),
			readiness.Ready, "3 of 3 pods are available",
		},
		{
			"StatefulSet without pods", statefulSet(onDelete, appsv1.StatefulSetStatus{ObservedGeneration: 2}),
			readiness.InProgress, "0 of 3 pods are created",
		},
		{
			"StatefulSet with a pod that is not available",
			statefulSet(rolling, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 2, UpdatedReplicas: 3}),
			readiness.InProgress, "2 of 3 pods are available",
		},
		{
			"StatefulSet with a pod more",
			statefulSet(rolling, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 4, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 3}),
			readiness.InProgress, "1 pod too many",
		},
		{
			"StatefulSet with an old pod",
			statefulSet(rolling, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 2}),
			readiness.InProgress, "2 of 3 pods are updated",
		},
		{
			"StatefulSet that updates on deletion",
			statefulSet(onDelete, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 1}),
			readiness.InProgress, "1 of 3 pods are updated; the others wait to be deleted, as the update strategy is OnDelete",
		},
		{
			"StatefulSet with a partition",
			statefulSet(lastOnly, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}),
			readiness.InProgress, "0 of 1 pods are updated",
		},
		{
			"StatefulSet that names no partition",
			statefulSet(appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{}},
				appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 2}),
			readiness.InProgress, "2 of 3 pods are updated",
		},
		{
			"StatefulSet with its partition updated",
			statefulSet(lastOnly, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 1}),
			readiness.Ready, "3 of 3 pods are available",
		},
		{
			"StatefulSet with all pods below the partition",
			statefulSet(beyond, appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}),
			readiness.Ready, "3 of 3 pods are available",
		},

		{"DaemonSet nobody looked at", daemonSet(appsv1.DaemonSetStatus{}), readiness.InProgress, "its controller has not looked at it yet"},
		{
			"DaemonSet with a node to go",
			daemonSet(appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 1}),
			readiness.InProgress, "1 of 2 pods are updated",
		},
		{"DaemonSet on no node", daemonSet(appsv1.DaemonSetStatus{ObservedGeneration: 2}), readiness.Ready, "0 of 0 pods are available"},

		{
			"ReplicaSet whose pods are refused no more",
			replicaSet(appsv1.ReplicaSetStatus{
				ObservedGeneration: 2, Replicas: 2, FullyLabeledReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
				Conditions: []appsv1.ReplicaSetCondition{
					{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionFalse}, {Type: "Another", Status: corev1.ConditionTrue},
				},
			}),
			readiness.Ready, "2 of 2 pods are available",
		},
		{"ReplicaSet nobody looked at", replicaSet(appsv1.ReplicaSetStatus{}), readiness.InProgress, "its controller has not looked at it yet"},
		{
			"ReplicaSet whose pods are refused",
			replicaSet(appsv1.ReplicaSetStatus{ObservedGeneration: 2, Conditions: []appsv1.ReplicaSetCondition{{
				Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
			}}}),
			readiness.InProgress, "pods cannot be created or deleted: FailedCreate",
		},
		{
			"ReplicaSet with a pod to go", replicaSet(appsv1.ReplicaSetStatus{ObservedGeneration: 2, FullyLabeledReplicas: 2, AvailableReplicas: 1}),
			readiness.InProgress, "1 of 2 pods are available",
		},
		{
			"ReplicaSet with a pod more",
			replicaSet(appsv1.ReplicaSetStatus{ObservedGeneration: 2, Replicas: 4, FullyLabeledReplicas: 2, AvailableReplicas: 2, ReadyReplicas: 2}),
			readiness.InProgress, "2 pods too many",
		},
		{
			"ReplicaSet available",
			replicaSet(appsv1.ReplicaSetStatus{ObservedGeneration: 2, Replicas: 2, FullyLabeledReplicas: 2, AvailableReplicas: 2, ReadyReplicas: 2}),
			readiness.Ready, "2 of 2 pods are available",
		},

		{"Pod nobody looked at", pod(corev1.PodStatus{}), readiness.InProgress, "it does not run yet"},
		{
			"Pod that runs, a container of which waits",
			pod(corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{waiting("web", "ImagePullBackOff", "back-off")}}),
			readiness.InProgress, "container web waits: ImagePullBackOff: back-off",
		},
		{
			"Pod that runs, one container of which waits and one crashes",
			pod(corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				waiting("web", "ImagePullBackOff", "back-off"), waiting("log", "CrashLoopBackOff", "back-off"),
			}}),
			readiness.Failed, "container log waits: CrashLoopBackOff: back-off",
		},
		{
			"Pod that is no longer ready",
			pod(corev1.PodStatus{ObservedGeneration: 2, Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			}}),
			readiness.InProgress, "it runs and is not ready",
		},
		{
			"Pod of an earlier generation", pod(corev1.PodStatus{ObservedGeneration: 1, Phase: corev1.PodSucceeded}),
			readiness.InProgress, "its controller has looked at generation 1, and not at 2 yet",
		},
		{
			"Pod without a node",
			pod(corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse},
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/2 nodes are available"},
			}}),
			readiness.InProgress, "it is not scheduled: Unschedulable: 0/2 nodes are available",
		},
		{
			"Pod without its image",
			pod(corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
				waiting("empty", "", ""), waiting("web", "ImagePullBackOff", `Back-off pulling image "web"`),
			}}),
			readiness.InProgress, `container web waits: ImagePullBackOff: Back-off pulling image "web"`,
		},
		{"Pod that is not ready", pod(running), readiness.InProgress, "it runs and is not ready"},
		{
			"Pod that crashes", pod(corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: crashing}),
			readiness.Failed, "container web waits: CrashLoopBackOff: back-off 10s",
		},
		{
			"Pod whose init container crashes", pod(corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: crashing}),
			readiness.InProgress, "container web waits: CrashLoopBackOff: back-off 10s",
		},
		{
			"Pod that is ready",
			pod(corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}),
			readiness.Ready, "it is ready",
		},
		{"Pod that succeeded", pod(corev1.PodStatus{Phase: corev1.PodSucceeded}), readiness.Ready, "it has completed"},
		{
			"Pod that failed", pod(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}),
			readiness.Failed, "it has failed: Evicted: low on memory",
		},

		{"Job nobody looked at", job(batchv1.JobStatus{}), readiness.InProgress, "it has not started yet"},
		{"Job suspended", job(jobIs(batchv1.JobSuspended, "True")), readiness.InProgress, "it is suspended"},
		{
			"Job under way", job(batchv1.JobStatus{StartTime: &longAgo, Active: 1, Failed: 2}),
			readiness.InProgress, "it is under way: 1 pod active, 0 succeeded, 2 failed",
		},
		{
			"Job about to be complete", job(jobIs(batchv1.JobSuccessCriteriaMet, "True")),
			readiness.InProgress, "it has not started yet",
		},
		{"Job complete", job(jobIs(batchv1.JobComplete, "True")), readiness.Ready, "it is complete"},
		{"Job not complete", job(jobIs(batchv1.JobComplete, "False")), readiness.InProgress, "it has not started yet"},
		{"Job failed", job(jobIs(batchv1.JobFailed, "True")), readiness.Failed, "it has failed: BackoffLimitExceeded: too many"},

		{
			"claim pending", claim("1Gi", corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}),
			readiness.InProgress, "it is not bound yet",
		},
		{"claim bound", claim("1Gi", bound("1Gi")), readiness.Ready, "it is bound"},
		{"claim bound to more", claim("1Gi", bound("2Gi")), readiness.Ready, "it is bound"},
		{
			"claim that grows",
			claim("3Gi", bound("2Gi",
				corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimResizing, Status: "False"},
				corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: "True", Message: "waiting"},
			)),
			readiness.InProgress, "it has 2Gi of 3Gi; FileSystemResizePending: waiting",
		},
		{"claim lost", claim("1Gi", corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost}), readiness.Failed, "it has lost its volume"},

		{"Service", &corev1.Service{}, readiness.Ready, "it is there"},
		{"Service of type LoadBalancer", balanced, readiness.InProgress, "it has no cluster IP yet"},
		{"Service of type LoadBalancer with an IP", balancedWithIP, readiness.Ready, "it is there"},

		{"definition nobody looked at", definition(), readiness.InProgress, "it is not established yet"},
		{
			"definition with names that are taken",
			definition(apiextensionsv1.CustomResourceDefinitionCondition{
				Type: apiextensionsv1.NamesAccepted, Status: "False", Reason: "PluralConflict", Message: `"shops" is already in use`,
			}),
			readiness.Failed, `its names are not accepted: PluralConflict: "shops" is already in use`,
		},
		{"definition being installed", definition(established("False", "Installing")), readiness.InProgress, "it is not established yet"},
		{
			"definition that cannot be established", definition(established("False", "NotAccepted")),
			readiness.Failed, "it is not established: NotAccepted",
		},
		{"definition established", definition(established("True", "")), readiness.Ready, "it is established"},
		{
			"definition of an earlier generation", oldDefinition,
			readiness.InProgress, "its controller has looked at generation 1, and not at 2 yet",
		},

		{"kind without conditions", &corev1.ConfigMap{ObjectMeta: generation}, readiness.Ready, "it has no condition Ready"},
		{"custom kind without conditions", custom(ShopStatus{}), readiness.Ready, "it has no condition Ready"},
		{
			"custom kind of an earlier generation", custom(ShopStatus{ObservedGeneration: 1}),
			readiness.InProgress, "its controller has looked at generation 1, and not at 2 yet",
		},
		{
			"custom kind with a condition of an earlier generation",
			custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "True", ObservedGeneration: 1}}}),
			readiness.InProgress, "its condition Ready is of generation 1, and not of 2 yet",
		},
		{
			"custom kind that is not ready",
			custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Open"}, {Type: "Ready", Status: "Unknown", Reason: "Why", Message: "who knows"}}}),
			readiness.InProgress, "its condition Ready is Unknown: Why: who knows",
		},
		{
			"custom kind that is ready", custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "True", ObservedGeneration: 2}}}),
			readiness.Ready, "its condition Ready is True",
		},
		{
			"custom kind that is stalled",
			custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "False"}, {Type: "Stalled", Status: "True", Reason: "Bad"}}}),
			readiness.Failed, "it is stalled: Bad",
		},
		{
			"custom kind that was stalled before it was changed",
			custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Stalled", Status: "True", ObservedGeneration: 1}}}),
			readiness.InProgress, "its condition Stalled is of generation 1, and not of 2 yet",
		},
		{
			"custom kind that is reconciling",
			custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "True"}, {Type: "Reconciling", Status: "True"}}}),
			readiness.InProgress, "it is being reconciled",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := readiness.Of(test.obj)
			want := readiness.Readiness{State: test.state, Reason: got.Reason, Message: test.why}
			require.Empty(t, cmp.Diff(want, got))
			require.Empty(t, cmp.Diff(want, readiness.Of(untyped(t, test.obj))), "unstructured")
			require.NotEmpty(t, got.Reason)
			if test.state == readiness.Ready {
				require.Equal(t, "Ready", got.Reason)
			}

			test.obj.SetDeletionTimestamp(&longAgo)
			require.Equal(t, readiness.Terminating, readiness.Of(test.obj).State)
			require.Equal(t, readiness.Terminating, readiness.Of(untyped(t, test.obj)).State)
		})
	}
}

func TestReason(t *testing.T) {
	resizing := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimResizing, Status: "True"}
	pending := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: "True"}
	tooSmall := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimControllerResizeError, Status: "True", Reason: "TooSmall"}
	for _, test := range []struct {
		name   string
		obj    client.Object
		reason string
	}{
		{"Deployment under way", deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2}), "InProgress"},
		{"Deployment available", deployment(new(int32(0)), appsv1.DeploymentStatus{ObservedGeneration: 2}), "Ready"},
		{
			"Deployment beyond its deadline",
			deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded",
			}}}),
			"ProgressDeadlineExceeded",
		},
		{
			"Deployment whose pods are refused",
			deployment(nil, appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentReplicaFailure, Status: "True", Reason: "FailedCreate", Message: "exceeded quota",
			}}}),
			"FailedCreate",
		},
		{
			"ReplicaSet whose pods are refused",
			replicaSet(appsv1.ReplicaSetStatus{ObservedGeneration: 2, Conditions: []appsv1.ReplicaSetCondition{{
				Type: appsv1.ReplicaSetReplicaFailure, Status: "True", Reason: "FailedCreate",
			}}}),
			"FailedCreate",
		},
		{"Pod without its image", pod(corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("web", "ErrImagePull", "")}}), "ErrImagePull"},
		{
			"Pod that crashes",
			pod(corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{waiting("web", "CrashLoopBackOff", "")}}),
			"CrashLoopBackOff",
		},
		{
			"Pod without a node",
			pod(corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False", Reason: "Unschedulable"}}}),
			"Unschedulable",
		},
		{"Pod that was evicted", pod(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}), "Evicted"},
		{"Pod that failed", pod(corev1.PodStatus{Phase: corev1.PodFailed}), "Failed"},
		{"Job that failed", job(jobIs(batchv1.JobFailed, "True")), "BackoffLimitExceeded"},
		{"Job complete", job(jobIs(batchv1.JobComplete, "True")), "Ready"},
		{"claim that is not growing yet", claim("3Gi", bound("2Gi")), "InProgress"},
		{"claim that is growing", claim("3Gi", bound("2Gi", resizing, pending)), "FileSystemResizePending"},
		{"claim that cannot grow", claim("3Gi", bound("2Gi", resizing, tooSmall)), "TooSmall"},
		{
			"definition with names that are taken",
			definition(apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NamesAccepted, Status: "False", Reason: "PluralConflict"}),
			"PluralConflict",
		},
		{"custom kind that is stalled", custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Stalled", Status: "True", Reason: "Bad"}}}), "Bad"},
		{"custom kind that gives no reason", custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "False"}}}), "InProgress"},
		{"custom kind that is ready", custom(ShopStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Open"}}}), "Ready"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.reason, readiness.Of(test.obj).Reason)
			test.obj.SetDeletionTimestamp(&longAgo)
			require.Equal(t, "Terminating", readiness.Of(test.obj).Reason)
		})
	}
}

func untyped(t *testing.T, obj client.Object) *unstructured.Unstructured {
	t.Helper()
	scheme := newScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	kind, err := apiutil.GVKForObject(obj, scheme)
	require.NoError(t, err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	return u
}

func TestOfWhatIsNoObject(t *testing.T) {
	var none *appsv1.Deployment
	want := readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "there is no object"}
	require.Equal(t, want, readiness.Of(nil))
	require.Equal(t, want, readiness.Of(none))
}

func TestOfMetadataAlone(t *testing.T) {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: generation}
	obj.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	want := readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "its status is not known, as only its metadata was read"}
	require.Equal(t, want, readiness.Of(obj))
	obj.DeletionTimestamp = &longAgo
	require.Equal(t, readiness.Terminating, readiness.Of(obj).State)
}

func TestOfWhatCannotBeRead(t *testing.T) {
	for _, test := range []struct {
		name string
		kind schema.GroupVersionKind
		text any
		why  string
	}{
		{name: "Deployment", kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), text: "odd", why: "its content is not that of its kind"},
		{name: "custom kind", kind: shopGVK, text: "odd", why: "its status is not an object"},
		{name: "what is no JSON", kind: shopGVK, text: func() {}, why: "its status is not an object"},
		{
			name: "observed generation that is no number", kind: shopGVK, text: map[string]any{"observedGeneration": "66fc8b"},
			why: "its status.observedGeneration is not a number",
		},
		{
			name: "conditions that are no list", kind: shopGVK, text: map[string]any{"conditions": map[string]any{"Ready": "True"}},
			why: "its status.conditions is not a list",
		},
		{
			name: "condition Ready that is a boolean", kind: shopGVK, text: statusWith(map[string]any{"type": "Ready", "status": true}),
			why: "its status.conditions[type=Ready].status is not a string",
		},
		{
			name: "generation of a condition", kind: shopGVK,
			text: statusWith(map[string]any{"type": "Stalled", "status": "True", "observedGeneration": "x"}),
			why:  "its status.conditions[type=Stalled].observedGeneration is not a number",
		},
		{
			name: "conditions without a type", kind: shopGVK, text: statusWith(map[string]any{"type": "Open", "status": "True"}, "Ready"),
			why: "its status.conditions[1] has no type",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{"status": test.text}}
			u.SetGroupVersionKind(test.kind)
			require.Equal(t, readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: test.why}, readiness.Of(u))
		})
	}
}

func statusWith(conditions ...any) map[string]any { return map[string]any{"conditions": conditions} }

// Each condition is judged by itself, and a number may be a string.
func TestOfOddStatuses(t *testing.T) {
	readyAt := func(generation any) map[string]any {
		return map[string]any{"type": "Ready", "status": "True", "observedGeneration": generation, "lastTransitionTime": int64(7)}
	}
	with := func(status map[string]any, observed any) map[string]any {
		status["observedGeneration"] = observed
		return status
	}
	for name, test := range map[string]struct {
		status map[string]any
		want   readiness.State
		why    string
	}{
		"generation as a string":              {with(statusWith(), "7"), readiness.Ready, "it has no condition Ready"},
		"earlier generation as a string":      {with(statusWith(), "6"), readiness.InProgress, "its controller has looked at generation 6, and not at 7 yet"},
		"generation as a float":               {with(statusWith(), float64(7)), readiness.Ready, "it has no condition Ready"},
		"no generation":                       {with(statusWith(readyAt(nil)), nil), readiness.Ready, "its condition Ready is True"},
		"Ready with a string":                 {statusWith(readyAt("7")), readiness.Ready, "its condition Ready is True"},
		"Ready with an earlier string":        {statusWith(readyAt("6")), readiness.InProgress, "its condition Ready is of generation 6, and not of 7 yet"},
		"another condition that is odd":       {statusWith(map[string]any{"type": "Open", "status": true}, readyAt(nil)), readiness.Ready, "its condition Ready is True"},
		"the only condition is odd":           {statusWith(map[string]any{"type": "Open", "status": int64(1)}), readiness.Ready, "it has no condition Ready"},
		"a condition that is no object":       {statusWith("odd", readyAt(nil)), readiness.Ready, "its condition Ready is True"},
		"Stalled with odd reasons":            {statusWith(map[string]any{"type": "Stalled", "status": "True", "reason": int64(1)}), readiness.Failed, "it is stalled"},
		"conditions that are explicitly null": {map[string]any{"conditions": nil}, readiness.Ready, "it has no condition Ready"},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(7)}, "status": test.status}}
			u.SetGroupVersionKind(shopGVK)
			found := readiness.Of(u)
			require.Equal(t, test.want, found.State)
			require.Equal(t, test.why, found.Message)
		})
	}
}
