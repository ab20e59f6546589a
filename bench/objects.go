package main

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An objectCase is a child, written for trueup and for the peer.
type objectCase struct {
	name string
	// desired returns an object with the fields that the operator decides.
	desired func() client.Object
	// mutate sets every field that CreateOrUpdate would otherwise report as a difference,
	// including the defaults.
	mutate func(into client.Object)
	empty  func() client.Object
	// targets replace the usual ones where these were not reached; see docs/benchmarks.md.
	targets targets
}

func objectCases() []objectCase {
	return []objectCase{
		{
			name:    "Deployment, full",
			desired: func() client.Object { return fullDeployment() },
			mutate:  mutateDeployment(withDeploymentDefaults(fullDeployment())),
			empty:   func() client.Object { return &appsv1.Deployment{} },
		},
		minimalDeployment(),
		{
			name:    "ConfigMap",
			desired: func() client.Object { return configMap() },
			mutate:  mutateConfigMap(configMap()),
			empty:   func() client.Object { return &corev1.ConfigMap{} },
			targets: targets{nothing: 0.4},
		},
		{
			name:    "Service",
			desired: func() client.Object { return service() },
			mutate:  mutateService(withServiceDefaults(service())),
			empty:   func() client.Object { return &corev1.Service{} },
			targets: targets{nothing: 0.33},
		},
		{
			name:    "unstructured",
			desired: func() client.Object { return database() },
			mutate:  mutateDatabase(withDatabaseDefaults(database())),
			empty: func() client.Object {
				empty := &unstructured.Unstructured{}
				empty.SetGroupVersionKind(databaseGVK)
				return empty
			},
			targets: targets{digestAllocs: -1, nothing: 0.48, nothingAllocs: 0.28},
		},
	}
}

func minimalDeployment() objectCase {
	return objectCase{
		name:    "Deployment, minimal",
		desired: func() client.Object { return deployment() },
		mutate:  mutateDeployment(withDeploymentDefaults(deployment())),
		empty:   func() client.Object { return &appsv1.Deployment{} },
	}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels()}
}

func labels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": "shop", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/managed-by": fieldOwner,
	}
}

func configMap() *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{
		"listen": ":8080", "log-level": "info", "features.yaml": "checkout: true\nvouchers: false\n",
	}}
	object.Annotations = map[string]string{"example.com/note": "made from the shop's settings"}
	return object
}

func mutateConfigMap(spelled *corev1.ConfigMap) func(client.Object) {
	return func(into client.Object) {
		object := into.(*corev1.ConfigMap)
		object.Data = spelled.Data
		object.Labels = spelled.Labels
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, "example.com/note", spelled.Annotations["example.com/note"])
	}
}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app.kubernetes.io/name": "shop"},
		Ports:    []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: 9090}},
	}}
}

func mutateService(spelled *corev1.Service) func(client.Object) {
	return func(into client.Object) {
		object := into.(*corev1.Service)
		object.Spec = spelled.Spec
		object.Labels = spelled.Labels
	}
}

func withServiceDefaults(desired *corev1.Service) *corev1.Service {
	spec := &desired.Spec
	spec.ClusterIP = "10.96.17.4"
	spec.ClusterIPs = []string{spec.ClusterIP}
	spec.Type = corev1.ServiceTypeClusterIP
	spec.SessionAffinity = corev1.ServiceAffinityNone
	spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
	spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	for i := range spec.Ports {
		spec.Ports[i].Protocol = corev1.ProtocolTCP
		spec.Ports[i].TargetPort = intstr.FromInt32(spec.Ports[i].Port)
	}
	return desired
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "shop"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/name": "shop"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "ghcr.io/example/web:1.2.3"}}},
		},
	}}
}

// fullDeployment returns a Deployment as operators of large applications specify it.
func fullDeployment() *appsv1.Deployment {
	desired := deployment()
	desired.Spec.Replicas = new(int32(3))
	desired.Spec.Selector.MatchLabels = labels()
	desired.Spec.Template.Labels = labels()
	desired.Spec.Template.Annotations = map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090"}
	pod := &desired.Spec.Template.Spec
	pod.ServiceAccountName = "shop"
	pod.Affinity = spread(labels())
	pod.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, DefaultMode: new(int32(0o644)),
		}}},
		{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "tls", DefaultMode: new(int32(0o600)),
		}}},
		{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	pod.Containers = []corev1.Container{fullContainer("web", 8080), fullContainer("metrics", 9090)}
	return desired
}

func fullContainer(name string, port int32) corev1.Container {
	probe := func(path string) *corev1.Probe {
		get := &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(name), Scheme: corev1.URISchemeHTTP}
		return &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: get}, PeriodSeconds: 5, TimeoutSeconds: 2, FailureThreshold: 6,
		}
	}
	return corev1.Container{
		Name: name, Image: "ghcr.io/example/" + name + ":1.2.3", Args: []string{"--listen=:8080", "--log-level=info"},
		Ports: []corev1.ContainerPort{{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Env: []corev1.EnvVar{
			{Name: "MODE", Value: "production"},
			{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "database"}, Key: "password",
			}}},
			{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				APIVersion: "v1", FieldPath: "metadata.name",
			}}},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("256Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/shop", ReadOnly: true},
			{Name: "tls", MountPath: "/tls", ReadOnly: true},
			{Name: "cache", MountPath: "/var/cache"},
		},
		LivenessProbe:  probe("/healthz"),
		ReadinessProbe: probe("/readyz"),
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

func spread(over map[string]string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: &metav1.LabelSelector{MatchLabels: maps.Clone(over)}, TopologyKey: "kubernetes.io/hostname",
			},
		}},
	}}
}

func mutateDeployment(spelled *appsv1.Deployment) func(client.Object) {
	return func(into client.Object) {
		object := into.(*appsv1.Deployment)
		object.Spec = spelled.Spec
		object.Labels = spelled.Labels
	}
}

// withDeploymentDefaults sets the defaults that the API server sets for these Deployments.
func withDeploymentDefaults(desired *appsv1.Deployment) *appsv1.Deployment {
	spec := &desired.Spec
	if spec.Replicas == nil {
		spec.Replicas = new(int32(1))
	}
	spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: new(intstr.FromString("25%")), MaxSurge: new(intstr.FromString("25%")),
		},
	}
	spec.RevisionHistoryLimit = new(int32(10))
	spec.ProgressDeadlineSeconds = new(int32(600))
	pod := &spec.Template.Spec
	pod.RestartPolicy = corev1.RestartPolicyAlways
	pod.TerminationGracePeriodSeconds = new(int64(30))
	pod.DNSPolicy = corev1.DNSClusterFirst
	pod.DeprecatedServiceAccount = pod.ServiceAccountName
	pod.SecurityContext = &corev1.PodSecurityContext{}
	pod.SchedulerName = corev1.DefaultSchedulerName
	for i := range pod.Containers {
		fillInContainer(&pod.Containers[i])
	}
	return desired
}

func fillInContainer(container *corev1.Container) {
	container.TerminationMessagePath = corev1.TerminationMessagePathDefault
	container.TerminationMessagePolicy = corev1.TerminationMessageReadFile
	container.ImagePullPolicy = corev1.PullIfNotPresent
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		if probe != nil {
			probe.SuccessThreshold = 1
		}
	}
}
