//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func workloads() []Entry {
	return []Entry{
		{"apps/v1/Deployment/minimal", minimalDeployment()},
		{"apps/v1/Deployment/full", fullDeployment()},
		{"apps/v1/Deployment/autoscaled", autoscaledDeployment()},
		{"apps/v1/Deployment/zero-replicas", stoppedDeployment()},
		{"apps/v1/Deployment/recreate", recreatedDeployment()},
		{"apps/v1/Deployment/surge-as-text", surgingDeployment(intstr.FromString("10%"), intstr.FromString("0"))},
		{"apps/v1/Deployment/surge-as-number", surgingDeployment(intstr.FromInt32(10), intstr.FromInt32(0))},
		{"apps/v1/Deployment/empty-lists", emptyListsDeployment()},
		{"apps/v1/Deployment/nothing", &appsv1.Deployment{}},
		{"apps/v1/StatefulSet/database", statefulSet()},
		{"apps/v1/StatefulSet/parallel", parallelStatefulSet()},
		{"apps/v1/DaemonSet/agent", daemonSet()},
		{"apps/v1/DaemonSet/on-delete", &appsv1.DaemonSet{ObjectMeta: named("agent"), Spec: appsv1.DaemonSetSpec{
			Selector: selector(), Template: template(), UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
		}}},
		{"apps/v1/ReplicaSet/plain", &appsv1.ReplicaSet{ObjectMeta: named("shop"), Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(1)), Selector: selector(), Template: template(), MinReadySeconds: 5,
		}}},
		{"apps/v1/ControllerRevision/raw-data", controllerRevision()},
		{"batch/v1/Job/migration", migrationJob()},
		{"batch/v1/Job/indexed", indexedJob()},
		{"batch/v1/Job/manual-selector", &batchv1.Job{ObjectMeta: named("once"), Spec: batchv1.JobSpec{
			ManualSelector: new(true), Selector: &metav1.LabelSelector{}, Template: template(), TTLSecondsAfterFinished: new(int32(0)),
		}}},
		{"batch/v1/CronJob/backup", backupCronJob()},
		{"batch/v1/CronJob/suspended", &batchv1.CronJob{ObjectMeta: named("report"), Spec: batchv1.CronJobSpec{
			Schedule: "@hourly", TimeZone: new(""), Suspend: new(false), SuccessfulJobsHistoryLimit: new(int32(0)),
			JobTemplate: batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}, Spec: batchv1.JobSpec{Template: template()}},
		}}},
	}
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels()},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.org/shop:1.4.2"}}},
	}
}

func minimalDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: named("shop"),
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: selector(), Template: template()},
	}
}

func fullDeployment() *appsv1.Deployment {
	d := minimalDeployment()
	d.Annotations = map[string]string{"example.org/team": "checkout", "example.org/runbook": "https://runbooks.example.org/shop?a=1&b=<2>"}
	d.OwnerReferences = []metav1.OwnerReference{owner()}
	d.Spec.RevisionHistoryLimit = new(int32(3))
	d.Spec.MinReadySeconds = 10
	d.Spec.ProgressDeadlineSeconds = new(int32(600))
	d.Spec.Template.Annotations = map[string]string{"example.org/config": "v1-cbbbdcd27692344de5dbab3abcaba413"}
	d.Spec.Template.Spec = fullPodSpec()
	return d
}

func autoscaledDeployment() *appsv1.Deployment {
	d := minimalDeployment()
	d.Spec.Replicas = nil
	return d
}

func stoppedDeployment() *appsv1.Deployment {
	d := minimalDeployment()
	d.Spec.Replicas = new(int32(0))
	d.Spec.Paused = true
	return d
}

func recreatedDeployment() *appsv1.Deployment {
	d := minimalDeployment()
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType, RollingUpdate: nil}
	return d
}

func surgingDeployment(surge, unavailable intstr.IntOrString) *appsv1.Deployment {
	d := minimalDeployment()
	d.Spec.Strategy = appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
	}
	return d
}

// emptyListsDeployment has empty lists and maps, as left by code that fills them in loops without
// iterations.
func emptyListsDeployment() *appsv1.Deployment {
	d := minimalDeployment()
	d.Annotations = map[string]string{}
	d.OwnerReferences = []metav1.OwnerReference{}
	d.Finalizers = []string{}
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	pod := &d.Spec.Template.Spec
	pod.InitContainers = []corev1.Container{}
	pod.Volumes = []corev1.Volume{}
	pod.Tolerations = []corev1.Toleration{}
	pod.ImagePullSecrets = []corev1.LocalObjectReference{}
	pod.NodeSelector = map[string]string{}
	pod.SecurityContext = &corev1.PodSecurityContext{}
	pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	app := &pod.Containers[0]
	app.Args, app.Command = []string{}, []string{""}
	app.Env = []corev1.EnvVar{{Name: "EMPTY"}, {Name: "", Value: ""}}
	app.Ports = []corev1.ContainerPort{}
	app.VolumeMounts = []corev1.VolumeMount{}
	app.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{}, Requests: nil, Claims: []corev1.ResourceClaim{}}
	app.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{}}
	app.LivenessProbe = &corev1.Probe{}
	app.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}
	return d
}

func statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: named("database"),
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), ServiceName: "database", Selector: selector(), Template: template(),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claim("10Gi"), {}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{
					Partition: new(int32(0)), MaxUnavailable: new(intstr.FromString("50%")),
				},
			},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
		},
	}
}

func parallelStatefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: named("cache"),
		Spec: appsv1.StatefulSetSpec{
			PodManagementPolicy: appsv1.ParallelPodManagement, Selector: selector(), Template: template(),
			Ordinals:                             &appsv1.StatefulSetOrdinals{},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{},
			VolumeClaimTemplates:                 []corev1.PersistentVolumeClaim{},
		},
	}
}

func daemonSet() *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: named("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector(), Template: template()}}
	d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{
		MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1)),
	}
	pod := &d.Spec.Template.Spec
	pod.HostNetwork, pod.HostPID = true, true
	pod.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	pod.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}, {}}
	pod.Volumes = []corev1.Volume{
		{Name: "sys", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/sys", Type: new(corev1.HostPathUnset)}}},
	}
	return d
}

func migrationJob() *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: named("migrate"), Spec: batchv1.JobSpec{Template: template()}}
	j.Spec.BackoffLimit = new(int32(0))
	j.Spec.ActiveDeadlineSeconds = new(int64(1<<63 - 1))
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1, 42}, ContainerName: new("app"),
			},
		},
		{
			Action: batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
			},
		},
		{Action: batchv1.PodFailurePolicyActionCount, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{}},
	}}
	return j
}

func indexedJob() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: named("shards"), Spec: batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(8)), Parallelism: new(int32(4)),
		BackoffLimitPerIndex: new(int32(0)), MaxFailedIndexes: new(int32(1)), Suspend: new(true), Template: template(),
		PodReplacementPolicy: new(batchv1.Failed), PodFailurePolicy: &batchv1.PodFailurePolicy{},
	}}
}

func backupCronJob() *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: named("backup"), Spec: batchv1.CronJobSpec{
		Schedule: "*/15 2 * * 1-5", TimeZone: new("Europe/Berlin"), ConcurrencyPolicy: batchv1.ForbidConcurrent,
		StartingDeadlineSeconds: new(int64(0)),
		JobTemplate:             batchv1.JobTemplateSpec{Spec: migrationJob().Spec},
	}}
}
