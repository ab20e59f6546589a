package migration_test

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A desiredState describes a desired child: with a value that differs, and with or without a part whose name
// contains "more".
type desiredState struct {
	color string
	more  bool
}

const moreKey = "example.com/more"

// A legacyChild is a child of an operator that was written with controllerutil.CreateOrUpdate.
type legacyChild struct {
	kind, resource string
	empty          func() client.Object
	set            func(obj client.Object, a desiredState) // what a mutate function does, or a builder of desired objects
}

func (l legacyChild) named(namespace string) client.Object {
	obj := l.empty()
	obj.SetNamespace(namespace)
	obj.SetName("web")
	return obj
}

// newLegacyChild is a child of type T.
func newLegacyChild[T any, P interface {
	*T
	client.Object
}](kind, resource string, set func(P, desiredState)) legacyChild {
	return legacyChild{
		kind: kind, resource: resource,
		empty: func() client.Object { return P(new(T)) },
		set: func(obj client.Object, a desiredState) {
			mark(obj, a)
			set(obj.(P), a)
		},
	}
}

// mark sets labels and annotations as CreateOrUpdate's users do: key by key.
func mark(obj client.Object, a desiredState) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels["app"], annotations["example.com/color"] = "web", a.color
	delete(annotations, moreKey)
	if a.more {
		annotations[moreKey] = "x"
	}
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

func webLabels() map[string]string { return map[string]string{"app": "web"} }

func texts(a desiredState) map[string]string {
	out := map[string]string{"color": a.color}
	if a.more {
		out["more"] = "x"
	}
	return out
}

// setPods sets fields one by one, so that defaults stay.
func setPods(pods *corev1.PodSpec, a desiredState) {
	if len(pods.Containers) == 0 {
		pods.Containers = []corev1.Container{{}}
	}
	container := &pods.Containers[0]
	container.Name, container.Image = "web", "nginx:1.29"
	container.Env = []corev1.EnvVar{{Name: "COLOR", Value: a.color}}
	if a.more {
		container.Env = append(container.Env, corev1.EnvVar{Name: "more", Value: "x"})
	}
	container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
}

func setTemplate(template *corev1.PodTemplateSpec, a desiredState) {
	template.Labels = webLabels()
	setPods(&template.Spec, a)
}

func legacyChildren() []legacyChild {
	selector := &metav1.LabelSelector{MatchLabels: webLabels()}
	return []legacyChild{
		newLegacyChild("ConfigMap", "configmaps", func(o *corev1.ConfigMap, a desiredState) { o.Data = texts(a) }),
		newLegacyChild("Secret", "secrets", func(o *corev1.Secret, a desiredState) {
			o.Data = map[string][]byte{}
			for key, value := range texts(a) {
				o.Data[key] = []byte(value)
			}
		}),
		newLegacyChild("ServiceAccount", "serviceaccounts", func(o *corev1.ServiceAccount, _ desiredState) {
			o.AutomountServiceAccountToken = new(false)
		}),
		newLegacyChild("Role", "roles", func(o *rbacv1.Role, a desiredState) {
			o.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}
			if a.more {
				o.Rules = append(o.Rules, rbacv1.PolicyRule{APIGroups: []string{"more"}, Resources: []string{"x"}, Verbs: []string{"get"}})
			}
		}),
		newLegacyChild("RoleBinding", "rolebindings", func(o *rbacv1.RoleBinding, _ desiredState) {
			o.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "web"}
			o.Subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Name: "web"}}
		}),
		newLegacyChild("Service", "services", func(o *corev1.Service, a desiredState) {
			o.Spec.Selector = webLabels()
			o.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(80)}}
			if a.more {
				o.Spec.Ports = append(o.Spec.Ports,
					corev1.ServicePort{Name: "more", Port: 81, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(81)})
			}
		}),
		newLegacyChild("Ingress", "ingresses", func(o *networkingv1.Ingress, a desiredState) {
			o.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
				Name: "web", Port: networkingv1.ServiceBackendPort{Name: "http"},
			}}
			o.Spec.TLS = nil
			if a.more {
				o.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"more.example.com"}, SecretName: "web"}}
			}
		}),
		newLegacyChild("NetworkPolicy", "networkpolicies", func(o *networkingv1.NetworkPolicy, _ desiredState) {
			o.Spec.PodSelector.MatchLabels = webLabels()
			o.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		}),
		newLegacyChild("PodDisruptionBudget", "poddisruptionbudgets", func(o *policyv1.PodDisruptionBudget, _ desiredState) {
			o.Spec.Selector, o.Spec.MinAvailable = selector, new(intstr.FromInt32(1))
		}),
		newLegacyChild("HorizontalPodAutoscaler", "horizontalpodautoscalers", func(o *autoscalingv2.HorizontalPodAutoscaler, _ desiredState) {
			o.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "none"}
			o.Spec.MaxReplicas = 9
		}),
		newLegacyChild("Deployment", "deployments", func(o *appsv1.Deployment, a desiredState) {
			o.Spec.Replicas, o.Spec.Selector = new(int32(3)), selector
			setTemplate(&o.Spec.Template, a)
		}),
		newLegacyChild("StatefulSet", "statefulsets", func(o *appsv1.StatefulSet, a desiredState) {
			o.Spec.Replicas, o.Spec.ServiceName, o.Spec.Selector = new(int32(1)), "web", selector
			setTemplate(&o.Spec.Template, a)
			if len(o.Spec.VolumeClaimTemplates) == 0 {
				claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
				claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
				claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
				o.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
			}
		}),
		newLegacyChild("CronJob", "cronjobs", func(o *batchv1.CronJob, a desiredState) {
			o.Spec.Schedule = "0 4 30 2 *" // never, as its pod would be one too many
			setPods(&o.Spec.JobTemplate.Spec.Template.Spec, a)
			o.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		}),
	}
}
