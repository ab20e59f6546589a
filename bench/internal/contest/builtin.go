package contest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConfigMap returns a child without a spec, a status and defaults.
func ConfigMap() Child {
	return Child{
		Kind:  corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Empty: func() client.Object { return &corev1.ConfigMap{} },
		Desired: func(owner client.Object, revision int) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metadata(owner), Data: map[string]string{
				"listen": ":8080", "log-level": "info", "revision": fmt.Sprint(revision),
			}}
		},
		assignContent: func(live, desired client.Object) { live.(*corev1.ConfigMap).Data = desired.(*corev1.ConfigMap).Data },
		addDefaults:   func(client.Object) {},
	}
}

// Service returns a child with a list that has two keys.
func Service() Child {
	spec := func(object client.Object) *corev1.ServiceSpec { return &object.(*corev1.Service).Spec }
	return Child{
		Kind:  corev1.SchemeGroupVersion.WithKind("Service"),
		Empty: func() client.Object { return &corev1.Service{} },
		Desired: func(owner client.Object, revision int) client.Object {
			return &corev1.Service{ObjectMeta: metadata(owner), Spec: corev1.ServiceSpec{
				Selector: map[string]string{InstanceLabel: owner.GetName()},
				Ports:    []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: int32(9090 + revision)}},
			}}
		},
		assignContent: func(live, desired client.Object) {
			spec(live).Selector, spec(live).Ports = spec(desired).Selector, spec(desired).Ports
		},
		addDefaults: func(desired client.Object) {
			ports := spec(desired).Ports
			for i := range ports {
				ports[i].Protocol, ports[i].TargetPort = corev1.ProtocolTCP, intstr.FromInt32(ports[i].Port)
			}
		},
	}
}

// Deployment returns a child with many defaults. It is paused and has no replicas.
func Deployment() Child {
	spec := func(object client.Object) *appsv1.DeploymentSpec { return &object.(*appsv1.Deployment).Spec }
	return Child{
		Kind:          appsv1.SchemeGroupVersion.WithKind("Deployment"),
		Empty:         func() client.Object { return &appsv1.Deployment{} },
		Desired:       desiredDeployment,
		assignContent: func(live, desired client.Object) { *spec(live) = *spec(desired) },
		addDefaults:   func(desired client.Object) { addDeploymentDefaults(spec(desired)) },
	}
}

func desiredDeployment(owner client.Object, revision int) client.Object {
	selector := map[string]string{InstanceLabel: owner.GetName()}
	return &appsv1.Deployment{ObjectMeta: metadata(owner), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(0)),
		Paused:   true,
		Selector: &metav1.LabelSelector{MatchLabels: selector},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name:  "web",
				Image: fmt.Sprintf("ghcr.io/example/web:1.%d", revision),
				Env:   []corev1.EnvVar{{Name: "MODE", Value: "production"}},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")},
				}},
			}}},
		},
	}}
}

// addDeploymentDefaults sets the defaults that the API server sets for desiredDeployment.
func addDeploymentDefaults(spec *appsv1.DeploymentSpec) {
	spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: new(intstr.FromString("25%")), MaxSurge: new(intstr.FromString("25%")),
		},
	}
	spec.RevisionHistoryLimit, spec.ProgressDeadlineSeconds = new(int32(10)), new(int32(600))
	pod := &spec.Template.Spec
	pod.RestartPolicy, pod.DNSPolicy = corev1.RestartPolicyAlways, corev1.DNSClusterFirst
	pod.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	pod.SecurityContext, pod.SchedulerName = &corev1.PodSecurityContext{}, corev1.DefaultSchedulerName
	container := &pod.Containers[0]
	container.TerminationMessagePath = corev1.TerminationMessagePathDefault
	container.TerminationMessagePolicy = corev1.TerminationMessageReadFile
	container.ImagePullPolicy = corev1.PullIfNotPresent
	container.Ports[0].Protocol = corev1.ProtocolTCP
	probe := container.ReadinessProbe
	probe.HTTPGet.Scheme = corev1.URISchemeHTTP
	probe.TimeoutSeconds, probe.PeriodSeconds, probe.SuccessThreshold, probe.FailureThreshold = 1, 10, 1, 3
}
