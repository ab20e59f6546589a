package conformance_test

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A subject is one kind, written as an operator's author would write it, with what
// may be done to it.
type subject struct {
	name    string
	desired func() client.Object
	// settled reports whether the built-in controllers are done; nil if there are none.
	settled func(client.Object) bool
	// edits are what a person may do to what desired specifies.
	edits []edit
	// additions are what others may have beside what desired specifies: they survive.
	additions []edit
	// next is another desired state; gone reports whether live is rid of what it
	// dropped.
	next func(client.Object)
	gone func(client.Object) bool
}

type edit struct {
	name string
	do   func(client.Object)
}

// on makes an edit of a typed object.
func on[T client.Object](name string, do func(T)) edit {
	return edit{name: name, do: func(obj client.Object) { do(obj.(T)) }}
}

func is[T client.Object](check func(T) bool) func(client.Object) bool {
	return func(obj client.Object) bool { return check(obj.(T)) }
}

func then[T client.Object](change func(T)) func(client.Object) {
	return func(obj client.Object) { change(obj.(T)) }
}

const (
	ours   = "app.example.com/ours"
	theirs = "theirs.example.com/note"
)

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{"app": name, ours: "yes"},
		Annotations: map[string]string{ours: "made by a test"},
	}
}

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
			}},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
}

func mainOf(t *corev1.PodTemplateSpec) *corev1.Container {
	for i := range t.Spec.Containers {
		if t.Spec.Containers[i].Name == "main" {
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

// subjects are the kinds, in alphabetical order.
func subjects() []subject {
	return []subject{
		configMap(), deployment(), gadget(), unstructuredGadget(), autoscaler(),
		job(), claim(), roleBinding(), secret(), service(), statefulSet(),
	}
}

func configMap() subject {
	return subject{
		name: "ConfigMap",
		desired: func() client.Object {
			return &corev1.ConfigMap{
				ObjectMeta: named("config"),
				Data: map[string]string{
					"crlf": "a\r\nb\r\n", "emoji": "🚀", "control": "\u0001\u007f\u0085\u2028\ufffe", "empty": "", "yaml": "a: [1, 'x']\n---\n",
				},
				BinaryData: map[string][]byte{"bytes": {0, 255, 128}, "none": {}},
			}
		},
		edits: []edit{
			on("a value", func(c *corev1.ConfigMap) { c.Data["crlf"] = "edited" }),
			on("a removed key", func(c *corev1.ConfigMap) { delete(c.Data, "emoji") }),
			on("bytes", func(c *corev1.ConfigMap) { c.BinaryData["bytes"] = []byte{1} }),
		},
		additions: []edit{on("a key", func(c *corev1.ConfigMap) { c.Data["theirs"] = "kept" })},
		next:      then(func(c *corev1.ConfigMap) { delete(c.Data, "crlf"); c.BinaryData = nil }),
		gone: is(func(c *corev1.ConfigMap) bool {
			_, ok := c.Data["crlf"]
			return !ok && c.BinaryData == nil
		}),
	}
}

func secret() subject {
	return subject{
		name: "Secret",
		desired: func() client.Object {
			return &corev1.Secret{
				ObjectMeta: named("secret"),
				Data:       map[string][]byte{"password": []byte("hunter2"), "none": nil},
				StringData: map[string]string{"user": "größe"},
			}
		},
		edits: []edit{
			on("a value", func(s *corev1.Secret) { s.Data["password"] = []byte("edited") }),
			on("what stringData made", func(s *corev1.Secret) { delete(s.Data, "user") }),
		},
		additions: []edit{on("a key", func(s *corev1.Secret) { s.Data["theirs"] = []byte("kept") })},
		next:      then(func(s *corev1.Secret) { s.StringData = nil }),
		gone: is(func(s *corev1.Secret) bool {
			_, ok := s.Data["user"]
			return !ok
		}),
	}
}

func deployment() subject {
	return subject{
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
		edits: []edit{
			on("replicas", func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](3) }),
			on("the image", func(d *appsv1.Deployment) { mainOf(&d.Spec.Template).Image = "example.com/other:2" }),
			on("an env value", func(d *appsv1.Deployment) { mainOf(&d.Spec.Template).Env[1].Value = "edited" }),
			on("an argument more", func(d *appsv1.Deployment) {
				main := mainOf(&d.Spec.Template)
				main.Args = append(main.Args, "--debug")
			}),
			on("a limit", func(d *appsv1.Deployment) {
				mainOf(&d.Spec.Template).Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2")
			}),
			on("no probe", func(d *appsv1.Deployment) { mainOf(&d.Spec.Template).ReadinessProbe = nil }),
			on("a pod label", func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Volumes = nil
				mainOf(&d.Spec.Template).VolumeMounts = nil
			}),
		},
		additions: []edit{
			on("a sidecar", func(d *appsv1.Deployment) { addSidecar(&d.Spec.Template) }),
			on("a pod annotation", func(d *appsv1.Deployment) { d.Spec.Template.Annotations = map[string]string{theirs: "kept"} }),
			on("an env variable", func(d *appsv1.Deployment) {
				main := mainOf(&d.Spec.Template)
				main.Env = append(main.Env, corev1.EnvVar{Name: "THEIRS", Value: "kept"})
			}),
		},
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

func statefulSet() subject {
	return subject{
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
		edits: []edit{
			on("replicas", func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr.To[int32](0) }),
			on("the image", func(s *appsv1.StatefulSet) { mainOf(&s.Spec.Template).Image = "example.com/other:2" }),
		},
		additions: []edit{on("a sidecar", func(s *appsv1.StatefulSet) { addSidecar(&s.Spec.Template) })},
		next:      then(func(s *appsv1.StatefulSet) { mainOf(&s.Spec.Template).Args = nil }),
		gone:      is(func(s *appsv1.StatefulSet) bool { return mainOf(&s.Spec.Template).Args == nil }),
	}
}

func job() subject {
	return subject{
		name: "Job",
		desired: func() client.Object {
			template := podTemplate("task")
			template.Spec.RestartPolicy = corev1.RestartPolicyNever
			return &batchv1.Job{
				ObjectMeta: named("task"),
				Spec: batchv1.JobSpec{
					Parallelism: ptr.To[int32](1), ActiveDeadlineSeconds: ptr.To[int64](3600),
					Suspend: new(true), Template: template,
				},
			}
		},
		settled: is(func(j *batchv1.Job) bool { return len(j.Status.Conditions) > 0 }),
		edits: []edit{
			on("parallelism", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](3) }),
			on("the deadline", func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = ptr.To[int64](7200) }),
		},
		next: then(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = nil }),
		gone: is(func(j *batchv1.Job) bool { return j.Spec.ActiveDeadlineSeconds == nil }),
	}
}

func service() subject {
	return subject{
		name: "Service",
		desired: func() client.Object {
			return &corev1.Service{
				ObjectMeta: named("service"),
				Spec: corev1.ServiceSpec{
					Type:     corev1.ServiceTypeNodePort,
					Selector: map[string]string{"app": "web"},
					Ports: []corev1.ServicePort{
						{Name: "tcp", Port: 53, TargetPort: intstr.FromString("dns-tcp")},
						{Name: "udp", Port: 53, TargetPort: intstr.FromString("dns-udp"), Protocol: corev1.ProtocolUDP},
					},
				},
			}
		},
		edits: []edit{
			on("a selector's value", func(s *corev1.Service) { s.Spec.Selector["app"] = "other" }),
			on("a selector key more", func(s *corev1.Service) { s.Spec.Selector["track"] = "canary" }),
			on("a target port", func(s *corev1.Service) { s.Spec.Ports[1].TargetPort = intstr.FromInt32(9999) }),
		},
		additions: []edit{
			on("a port", func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "theirs", Port: 99})
			}),
			on("session affinity", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }),
		},
		next: then(func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }),
		gone: is(func(s *corev1.Service) bool {
			return !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "udp" })
		}),
	}
}

func claim() subject {
	return subject{
		name: "PersistentVolumeClaim",
		desired: func() client.Object {
			return &corev1.PersistentVolumeClaim{
				ObjectMeta: named("claim"),
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1.5Gi")},
					},
				},
			}
		},
		settled: is(func(p *corev1.PersistentVolumeClaim) bool { return p.Status.Phase == corev1.ClaimPending }),
		edits: []edit{
			on("a label", func(p *corev1.PersistentVolumeClaim) { p.Labels[ours] = "edited" }),
			on("no annotation", func(p *corev1.PersistentVolumeClaim) { delete(p.Annotations, ours) }),
		},
		next: then(func(p *corev1.PersistentVolumeClaim) { delete(p.Labels, ours) }),
		gone: is(func(p *corev1.PersistentVolumeClaim) bool {
			_, ok := p.Labels[ours]
			return !ok
		}),
	}
}

func roleBinding() subject {
	return subject{
		name: "RoleBinding",
		desired: func() client.Object {
			return &rbacv1.RoleBinding{
				ObjectMeta: named("binding"),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
				Subjects: []rbacv1.Subject{
					{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: "default"},
					{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "alice"},
				},
			}
		},
		edits: []edit{
			on("a subject", func(r *rbacv1.RoleBinding) { r.Subjects[1].Name = "mallory" }),
			on("a subject more", func(r *rbacv1.RoleBinding) {
				r.Subjects = append(r.Subjects, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "mallory"})
			}),
			on("no subjects", func(r *rbacv1.RoleBinding) { r.Subjects = nil }),
		},
		next: then(func(r *rbacv1.RoleBinding) { r.Subjects = []rbacv1.Subject{} }),
		gone: is(func(r *rbacv1.RoleBinding) bool { return len(r.Subjects) == 0 }),
	}
}

func autoscaler() subject {
	return subject{
		name: "HorizontalPodAutoscaler",
		desired: func() client.Object {
			return &autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: named("scaler"),
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "none"},
					MinReplicas:    ptr.To[int32](2),
					MaxReplicas:    5,
					Metrics: []autoscalingv2.MetricSpec{{
						Type: autoscalingv2.ResourceMetricSourceType,
						Resource: &autoscalingv2.ResourceMetricSource{
							Name:   corev1.ResourceCPU,
							Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](60)},
						},
					}},
					Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
						ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](60)},
					},
				},
			}
		},
		settled: is(func(h *autoscalingv2.HorizontalPodAutoscaler) bool { return len(h.Status.Conditions) > 0 }),
		edits: []edit{
			on("the maximum", func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 50 }),
			on("a metric's target", func(h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Spec.Metrics[0].Resource.Target.AverageUtilization = ptr.To[int32](10)
			}),
		},
		next: then(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MinReplicas = nil }),
		gone: is(func(h *autoscalingv2.HorizontalPodAutoscaler) bool { return *h.Spec.MinReplicas == 1 }),
	}
}

func gadget() subject {
	return subject{
		name: "Gadget",
		desired: func() client.Object {
			return &Gadget{
				ObjectMeta: named("gadget"),
				Spec: GadgetSpec{
					Size: 3, Ratio: 0.5, Storage: resource.MustParse("1000m"),
					Timeout: &metav1.Duration{Duration: 90 * time.Second},
					Parts:   []GadgetPart{{Name: "left"}, {Name: "right", Count: 2, Color: "blue"}},
					Args:    []string{"a", "b"},
				},
			}
		},
		edits: []edit{
			on("a number", func(g *Gadget) { g.Spec.Size = 7 }),
			on("a float", func(g *Gadget) { g.Spec.Ratio = 0.25 }),
			on("a quantity", func(g *Gadget) { g.Spec.Storage = resource.MustParse("2") }),
			on("a part", func(g *Gadget) { g.Spec.Parts[1].Color = "red" }),
			on("an argument more", func(g *Gadget) { g.Spec.Args = append(g.Spec.Args, "c") }),
		},
		additions: []edit{
			on("a part", func(g *Gadget) { g.Spec.Parts = append(g.Spec.Parts, GadgetPart{Name: "theirs"}) }),
			on("a mode", func(g *Gadget) { g.Spec.Mode = "manual" }),
		},
		next: then(func(g *Gadget) { g.Spec.Parts, g.Spec.Ratio = g.Spec.Parts[1:], 0 }),
		gone: is(func(g *Gadget) bool {
			return g.Spec.Ratio == 0 && !slices.ContainsFunc(g.Spec.Parts, func(p GadgetPart) bool { return p.Name == "left" })
		}),
	}
}

func unstructuredGadget() subject {
	return subject{
		name: "unstructured Gadget",
		desired: func() client.Object {
			u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"size": int64(3), "ratio": 0.5, "storage": "1", "args": []any{"a", "b"},
				"parts": []any{map[string]any{"name": "left"}, map[string]any{"name": "right", "color": "blue"}},
				"db":    map[string]any{},
			}}}
			u.SetGroupVersionKind(gadgetGVK)
			u.SetName("unstructured")
			u.SetLabels(map[string]string{ours: "yes"})
			u.SetAnnotations(map[string]string{ours: "made by a test"})
			return u
		},
		edits: []edit{
			on("a number", func(u *unstructured.Unstructured) { set(u, int64(7), "spec", "size") }),
			on("a list", func(u *unstructured.Unstructured) { set(u, []any{"a"}, "spec", "args") }),
		},
		additions: []edit{on("a mode", func(u *unstructured.Unstructured) { set(u, "manual", "spec", "mode") })},
		next: then(func(u *unstructured.Unstructured) {
			unstructured.RemoveNestedField(u.Object, "spec", "ratio")
		}),
		gone: is(func(u *unstructured.Unstructured) bool {
			_, ok, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "ratio")
			return !ok
		}),
	}
}

func set(u *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
		panic(err)
	}
}
