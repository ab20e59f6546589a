package conformance_test

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func podTemplate(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/app:1", Args: []string{"--listen", ":8080"},
				Ports: []corev1.ContainerPort{
					{Name: "dns-tcp", ContainerPort: 53},
					{Name: "dns-udp", ContainerPort: 53, Protocol: corev1.ProtocolUDP},
				},
				Env: []corev1.EnvVar{
					{Name: "EMPTY"},
					{Name: "GREETING", Value: "hällo 👋\r\n"},
					{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
				},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
					Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m"), corev1.ResourceMemory: resource.MustParse("0.5Gi")},
				},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)},
				}},
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}},
			}, {
				Name: "log", Image: "example.com/log:1", Command: []string{},
			}},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
}

func mainOf(t *corev1.PodTemplateSpec) *corev1.Container { return containerOf(t, "main") }

func containerOf(t *corev1.PodTemplateSpec, name string) *corev1.Container {
	for i := range t.Spec.Containers {
		if t.Spec.Containers[i].Name == name {
			return &t.Spec.Containers[i]
		}
	}
	return &corev1.Container{}
}

func hasEnv(c *corev1.Container, name string) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
}

func addSidecar(t *corev1.PodTemplateSpec) {
	t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "sidecar", Image: "example.com/sidecar:1"})
}

// templated returns the kinds with an editable pod template, with no pods: tests of a template need
// none.
func templated() []kindCase {
	return []kindCase{
		idle(deployment()), idle(statefulSet()), idle(daemonSet()), idle(replicaSet()), replicationController(), podTemplateObject(), cronJob(),
	}
}

// idle is s with no pods to wait for.
func idle(k kindCase) kindCase {
	desired := k.desired
	k.desired = func() client.Object {
		obj := desired()
		switch o := obj.(type) {
		case *appsv1.Deployment:
			o.Spec.Replicas = new(int32(0))
		case *appsv1.StatefulSet:
			o.Spec.Replicas = new(int32(0))
		case *appsv1.ReplicaSet:
			o.Spec.Replicas = new(int32(0))
		case *appsv1.DaemonSet:
			o.Spec.Template.Spec.NodeSelector = map[string]string{"nowhere": "yes"}
		}
		return obj
	}
	k.settled = isObserved
	return k
}

// isObserved reports whether the workload's controller has observed its latest generation.
func isObserved(obj client.Object) bool {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Status.ObservedGeneration == o.Generation
	case *appsv1.StatefulSet:
		return o.Status.ObservedGeneration == o.Generation
	case *appsv1.ReplicaSet:
		return o.Status.ObservedGeneration == o.Generation
	case *appsv1.DaemonSet:
		return o.Status.ObservedGeneration == o.Generation
	}
	return true
}

// podEdits are changes that a user may make to a pod template.
func podEdits() []edit {
	inPods := func(name string, do func(*corev1.PodTemplateSpec)) edit {
		return edit{name, func(obj client.Object) { do(podTemplateOf(obj)) }}
	}
	return []edit{
		inPods("the image", func(t *corev1.PodTemplateSpec) { mainOf(t).Image = "example.com/other:2" }),
		inPods("reordered containers", func(t *corev1.PodTemplateSpec) {
			main, log := mainOf(t), containerOf(t, "log")
			*main, *log = *log, *main
		}),
		inPods("a volume less", func(t *corev1.PodTemplateSpec) { t.Spec.Volumes, mainOf(t).VolumeMounts = nil, nil }),
	}
}

// podAdditions are additions of other programs to a pod template.
func podAdditions() []edit {
	return []edit{
		{"a sidecar", func(obj client.Object) { addSidecar(podTemplateOf(obj)) }},
		{"a pod annotation", func(obj client.Object) { podTemplateOf(obj).Annotations = map[string]string{theirs: "kept"} }},
	}
}
