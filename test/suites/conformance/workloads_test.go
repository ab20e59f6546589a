package conformance_test

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func deployment() kindCase {
	return kindCase{
		name: "Deployment",
		desired: func() client.Object {
			return &appsv1.Deployment{
				ObjectMeta: named("web"),
				Spec: appsv1.DeploymentSpec{
					Replicas: ptr.To[int32](2),
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
					Template: podTemplate("web"),
				},
			}
		},
		settled: is(func(d *appsv1.Deployment) bool {
			return d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == *d.Spec.Replicas &&
				d.Status.Replicas == *d.Spec.Replicas
		}),
		edits: append(podEdits(),
			on("replicas", func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](3) }),
			on("an env value", func(d *appsv1.Deployment) { mainOf(&d.Spec.Template).Env[1].Value = "edited" }),
			on("an argument more", func(d *appsv1.Deployment) {
				main := mainOf(&d.Spec.Template)
				main.Args = append(main.Args, "--debug")
			}),
			on("a limit", func(d *appsv1.Deployment) {
				mainOf(&d.Spec.Template).Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2")
			}),
			on("no probe", func(d *appsv1.Deployment) { mainOf(&d.Spec.Template).ReadinessProbe = nil }),
		),
		additions: append(podAdditions(),
			on("an env variable", func(d *appsv1.Deployment) {
				main := mainOf(&d.Spec.Template)
				main.Env = append(main.Env, corev1.EnvVar{Name: "THEIRS", Value: "kept"})
			}),
		),
		next: then(func(d *appsv1.Deployment) {
			main := mainOf(&d.Spec.Template)
			main.ReadinessProbe = nil
			main.Env = main.Env[:1]
			delete(main.Resources.Limits, corev1.ResourceMemory)
		}),
		gone: is(func(d *appsv1.Deployment) bool {
			main := mainOf(&d.Spec.Template)
			_, limited := main.Resources.Limits[corev1.ResourceMemory]
			return main.ReadinessProbe == nil && !hasEnv(main, "GREETING") && !hasEnv(main, "POD") && !limited
		}),
	}
}

func statefulSet() kindCase {
	return kindCase{
		name: "StatefulSet",
		desired: func() client.Object {
			return &appsv1.StatefulSet{
				ObjectMeta: named("db"),
				Spec: appsv1.StatefulSetSpec{
					Replicas:    ptr.To[int32](1),
					ServiceName: "db",
					Selector:    &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
					Template:    podTemplate("db"),
					VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
						ObjectMeta: metav1.ObjectMeta{Name: "data"},
						Spec: corev1.PersistentVolumeClaimSpec{
							AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
							Resources: corev1.VolumeResourceRequirements{
								Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1024Mi")},
							},
						},
					}},
				},
			}
		},
		settled: is(func(s *appsv1.StatefulSet) bool {
			return s.Status.ObservedGeneration == s.Generation && s.Status.Replicas == *s.Spec.Replicas
		}),
		edits: append(podEdits(),
			on("replicas", func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr.To[int32](0) }),
		),
		additions: podAdditions(),
		next:      then(func(s *appsv1.StatefulSet) { mainOf(&s.Spec.Template).Args = nil }),
		gone:      is(func(s *appsv1.StatefulSet) bool { return mainOf(&s.Spec.Template).Args == nil }),
	}
}

func daemonSet() kindCase {
	return kindCase{
		name: "DaemonSet",
		desired: func() client.Object {
			template := podTemplate("agent")
			template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{
				Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log"}},
			})
			return &appsv1.DaemonSet{
				ObjectMeta: named("agent"),
				Spec: appsv1.DaemonSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
					Template: template,
					UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
						RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromString("50%"))},
					},
				},
			}
		},
		settled: is(func(d *appsv1.DaemonSet) bool {
			return d.Status.ObservedGeneration == d.Generation && d.Status.DesiredNumberScheduled > 0 &&
				d.Status.UpdatedNumberScheduled == d.Status.DesiredNumberScheduled &&
				d.Status.NumberAvailable == d.Status.DesiredNumberScheduled
		}),
		edits: append(podEdits(),
			on("a toleration", func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Tolerations[0].Key = "edited" }),
			on("the update strategy", func(d *appsv1.DaemonSet) {
				d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(1))
			}),
		),
		additions: append(podAdditions(),
			on("a node selector", func(d *appsv1.DaemonSet) {
				d.Spec.Template.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
			}),
			on("a history limit", func(d *appsv1.DaemonSet) { d.Spec.RevisionHistoryLimit = ptr.To[int32](3) }),
		),
		next: then(func(d *appsv1.DaemonSet) {
			d.Spec.Template.Spec.Tolerations = nil
			d.Spec.Template.Spec.Volumes = d.Spec.Template.Spec.Volumes[:1]
		}),
		gone: is(func(d *appsv1.DaemonSet) bool {
			return !slices.ContainsFunc(d.Spec.Template.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == "" }) &&
				len(d.Spec.Template.Spec.Volumes) == 1
		}),
	}
}

// replicaSet leaves its replicas to an autoscaler.
func replicaSet() kindCase {
	return kindCase{
		name: "ReplicaSet",
		desired: func() client.Object {
			return &appsv1.ReplicaSet{
				ObjectMeta: named("replicas"),
				Spec: appsv1.ReplicaSetSpec{
					Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"replicas"}},
					}},
					Template: podTemplate("replicas"),
				},
			}
		},
		settled: is(func(r *appsv1.ReplicaSet) bool {
			return r.Status.ObservedGeneration == r.Generation && r.Status.AvailableReplicas == *r.Spec.Replicas
		}),
		edits: podEdits(),
		additions: append(podAdditions(),
			on("autoscaled replicas", func(r *appsv1.ReplicaSet) { r.Spec.Replicas = ptr.To[int32](3) }),
		),
		next: then(func(r *appsv1.ReplicaSet) { mainOf(&r.Spec.Template).Resources.Limits = nil }),
		gone: is(func(r *appsv1.ReplicaSet) bool { return mainOf(&r.Spec.Template).Resources.Limits == nil }),
	}
}

// replicationController omits its selector, which defaults to the pods' labels.
func replicationController() kindCase {
	return kindCase{
		name: "ReplicationController",
		desired: func() client.Object {
			return &corev1.ReplicationController{
				ObjectMeta: named("legacy"),
				Spec: corev1.ReplicationControllerSpec{
					Replicas: ptr.To[int32](0), MinReadySeconds: 1, Template: new(podTemplate("legacy")),
				},
			}
		},
		settled: is(func(r *corev1.ReplicationController) bool { return r.Status.ObservedGeneration == r.Generation }),
		edits: append(podEdits(),
			on("replicas", func(r *corev1.ReplicationController) { r.Spec.Replicas = ptr.To[int32](1) }),
		),
		additions: podAdditions(),
		next:      then(func(r *corev1.ReplicationController) { r.Spec.MinReadySeconds = 0 }),
		gone:      is(func(r *corev1.ReplicationController) bool { return r.Spec.MinReadySeconds == 0 }),
	}
}

func podTemplateObject() kindCase {
	return kindCase{
		name: "PodTemplate",
		desired: func() client.Object {
			return &corev1.PodTemplate{ObjectMeta: named("template"), Template: podTemplate("template")}
		},
		edits: append(podEdits(),
			on("a pod label", func(p *corev1.PodTemplate) { p.Template.Labels["app"] = "edited" }),
			on("an env variable less", func(p *corev1.PodTemplate) { mainOf(&p.Template).Env = nil }),
		),
		additions: podAdditions(),
		next:      then(func(p *corev1.PodTemplate) { mainOf(&p.Template).Ports = nil }),
		gone:      is(func(p *corev1.PodTemplate) bool { return mainOf(&p.Template).Ports == nil }),
	}
}

// pod returns a pod as an operator makes one for a single task; a user may edit little of it.
func pod() kindCase {
	return kindCase{
		name: "Pod",
		desired: func() client.Object {
			return &corev1.Pod{ObjectMeta: named("pod"), Spec: podTemplate("pod").Spec}
		},
		settled: is(func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }),
		edits: []edit{
			on("the image", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "example.com/other:2" }),
			on("another image", func(p *corev1.Pod) { p.Spec.Containers[1].Image = "example.com/other:3" }),
		},
		additions: []edit{
			on("a toleration", func(p *corev1.Pod) {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: theirs, Operator: corev1.TolerationOpExists})
			}),
			on("a deadline", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](86400) }),
		},
		next: then(func(p *corev1.Pod) { delete(p.Labels, ours) }),
		gone: is(func(p *corev1.Pod) bool {
			_, ok := p.Labels[ours]
			return !ok
		}),
	}
}
