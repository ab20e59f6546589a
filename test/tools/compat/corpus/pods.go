//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func pods() []Entry {
	return []Entry{
		{"core/v1/Pod/nothing", &corev1.Pod{}},
		{"core/v1/Pod/full", &corev1.Pod{ObjectMeta: named("full"), Spec: fullPodSpec()}},
		{"core/v1/Pod/sidecar", sidecarPod()},
		{"core/v1/Pod/twin-ports", samePortPod()},
		{"core/v1/Pod/every-volume", &corev1.Pod{ObjectMeta: named("volumes"), Spec: corev1.PodSpec{Volumes: volumes()}}},
		{"core/v1/Pod/quantities", quantitiesPod()},
		{"core/v1/Pod/env", envPod()},
		{"core/v1/Pod/probes", probesPod()},
		{"core/v1/Pod/dns", &corev1.Pod{ObjectMeta: named("dns"), Spec: corev1.PodSpec{
			DNSConfig: &corev1.PodDNSConfig{
				Nameservers: []string{}, Searches: []string{""}, Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("")}, {}},
			},
			HostAliases:   []corev1.HostAlias{{IP: "127.0.0.1", Hostnames: []string{"shop.local"}}, {IP: "::1"}},
			OS:            &corev1.PodOS{},
			Overhead:      corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("0")},
			HostUsers:     new(false),
			SchedulerName: "", SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.org/quota"}},
		}}},
		{"core/v1/Pod/ephemeral", &corev1.Pod{ObjectMeta: named("debugged"), Spec: corev1.PodSpec{
			EphemeralContainers: []corev1.EphemeralContainer{
				{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger", Image: "busybox", TTY: true}, TargetContainerName: "app"},
				{},
			},
		}}},
		{"core/v1/PodTemplate/plain", &corev1.PodTemplate{ObjectMeta: named("shop"), Template: template()}},
		{"core/v1/ReplicationController/plain", &corev1.ReplicationController{ObjectMeta: named("shop"), Spec: corev1.ReplicationControllerSpec{
			Replicas: new(int32(1)), Selector: map[string]string{}, Template: new(template()),
		}}},
	}
}

// fullPodSpec uses the features that production pods use.
func fullPodSpec() corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName: "shop", AutomountServiceAccountToken: new(false), PriorityClassName: "high", Priority: new(int32(-10)),
		TerminationGracePeriodSeconds: new(int64(0)), EnableServiceLinks: new(false), ShareProcessNamespace: new(true),
		PreemptionPolicy: new(corev1.PreemptNever), RuntimeClassName: new(""), SetHostnameAsFQDN: new(false), Hostname: "shop",
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(0)), FSGroup: new(int64(1000)), SupplementalGroups: []int64{},
			FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch), Sysctls: []corev1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		NodeSelector: map[string]string{"kubernetes.io/os": "linux"},
		Tolerations: []corev1.Toleration{
			{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "shop", Effect: corev1.TaintEffectNoSchedule},
			{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(0))},
		},
		Affinity: affinity(),
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector()},
			{
				MaxSkew: 2, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{},
				MinDomains: new(int32(2)), NodeTaintsPolicy: new(corev1.NodeInclusionPolicyHonor), MatchLabelKeys: []string{"pod-template-hash"},
			},
		},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}, {}},
		Volumes:          volumes(),
		InitContainers:   []corev1.Container{container("migrate")},
		Containers:       []corev1.Container{container("app"), container("proxy")},
		ReadinessGates:   []corev1.PodReadinessGate{{ConditionType: "example.org/registered"}},
	}
}

func container(name string) corev1.Container {
	return corev1.Container{
		Name: name, Image: "registry.example.org/" + name + ":1.4.2", ImagePullPolicy: corev1.PullIfNotPresent, WorkingDir: "/srv",
		Command: []string{"/bin/" + name}, Args: []string{"serve", "--config=/etc/shop/config.yaml", "--listen=:8080", ""},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}},
		Env: []corev1.EnvVar{
			{Name: "LOG_LEVEL", Value: "info"},
			{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "shop"}, Key: "password"},
			}},
		},
		EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "shop"}, Optional: new(false)}},
			{Prefix: "DB_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
			Limits: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1000m"), corev1.ResourceMemory: resource.MustParse("0.5Gi"),
				corev1.ResourceEphemeralStorage: resource.MustParse("2Gi"), "nvidia.com/gpu": resource.MustParse("1"),
			},
		},
		ResizePolicy: []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/shop", ReadOnly: true},
			{Name: "tmp", MountPath: "/tmp", SubPath: "a/../b", MountPropagation: new(corev1.MountPropagationHostToContainer)},
		},
		VolumeDevices:  []corev1.VolumeDevice{{Name: "disk", DevicePath: "/dev/xvda"}},
		LivenessProbe:  probe("/healthz", intstr.FromString("http")),
		ReadinessProbe: probe("/readyz", intstr.FromInt32(8080)),
		Lifecycle: &corev1.Lifecycle{
			PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "echo \"ready\" > /proc/1/fd/1\n"}}},
			PreStop:   &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 0}},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), ProcMount: new(corev1.DefaultProcMount),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError, Stdin: true,
	}
}

func probe(path string, port intstr.IntOrString) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: port, Scheme: corev1.URISchemeHTTPS, HTTPHeaders: []corev1.HTTPHeader{{Name: "Host", Value: ""}},
		}},
		PeriodSeconds: 5, FailureThreshold: 3, TerminationGracePeriodSeconds: new(int64(1)),
	}
}

func affinity() *corev1.Affinity {
	return &corev1.Affinity{
		PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: "kubernetes.io/hostname", NamespaceSelector: &metav1.LabelSelector{}, Namespaces: []string{},
			MatchLabelKeys: []string{"pod-template-hash"}, MismatchLabelKeys: []string{},
		}}},
		PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname", LabelSelector: selector()},
		}, {}}},
		NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64", "arm64"}},
					{Key: "example.org/spot", Operator: corev1.NodeSelectorOpDoesNotExist, Values: []string{}},
				},
			}, {}}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}},
		},
	}
}

func volumes() []corev1.Volume {
	config := corev1.LocalObjectReference{Name: "shop"}
	mode := new(int32(0o400))
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: config, Items: []corev1.KeyToPath{{Key: "a", Path: "b", Mode: mode}, {}},
		}}},
		{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "shop-tls", DefaultMode: mode, Optional: new(true),
		}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}}},
		{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.Quantity{}),
		}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "projected", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600)), Audience: "vault"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: config}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu", Divisor: resource.MustParse("1m")},
			}}}},
			{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{SignerName: new("example.org/ca"), LabelSelector: &metav1.LabelSelector{}}},
			{},
		}}}},
		{Name: "downward", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
		}}}},
		{Name: "claim", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		{Name: "generic", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claim("1Gi").Spec},
		}}},
		{Name: "csi", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
			Driver: "secrets.example.org", VolumeAttributes: map[string]string{"": ""}, NodePublishSecretRef: &corev1.LocalObjectReference{},
		}}},
		{Name: "nfs", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs", Path: "/"}}},
		{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}},
		{Name: "none"},
	}
}

func sidecarPod() *corev1.Pod {
	sidecar := container("mesh")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return &corev1.Pod{ObjectMeta: named("meshed"), Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{sidecar},
		Containers:     []corev1.Container{container("app")},
	}}
}

// samePortPod has ports that differ in their protocol only.
func samePortPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named("dns"), Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "dns", Image: "dns",
		Ports: []corev1.ContainerPort{
			{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP},
			{Name: "dns-tcp", ContainerPort: 53, Protocol: corev1.ProtocolTCP},
			{ContainerPort: 53, Protocol: corev1.ProtocolSCTP, HostPort: 53, HostIP: "::"},
		},
	}}}}
}

func envPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named("env"), Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "env", Image: "env",
		Env: []corev1.EnvVar{
			{Name: "EMPTY", Value: ""},
			{Name: "SPACE", Value: " "},
			{Name: "REFERENCE", Value: "$(EMPTY) $$(NOT)"},
			{Name: "CRLF", Value: "a\r\nb\rc\n"},
			{Name: "EMOJI", Value: "👩‍👩‍👧 \U0001F680 é e\u0301"},
			{Name: "YAML", Value: "\u0085\u2028\u2029\ufeff\ufffd\ufffe\uffff\u007f\u009f"},
			{Name: "HTML", Value: `<a href="x">&amp;</a>\`},
			{Name: "DUPLICATE", Value: "1"},
			{Name: "DUPLICATE", Value: "2"},
			{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"}}},
			{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
			{Name: "NOTHING", ValueFrom: &corev1.EnvVarSource{}},
		},
	}}}}
}

func probesPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named("probes"), Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "probed", Image: "probed",
		LivenessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9000, Service: new("")}}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(0)}}},
		StartupProbe:   &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}, InitialDelaySeconds: 1<<31 - 1},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString(""), HTTPHeaders: []corev1.HTTPHeader{}},
		}},
	}}}}
}
