package scale

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds is how many kinds of children there are.
const kinds = 10

// parts returns functions that make a Stack's children, one of each kind, from its name. As in a
// typical operator, they specify no defaults. Built-in controllers only write the status of the
// Deployment, as pods would need the resources of the machine. For the first three kinds they do
// nothing at all.
func parts() []func(name string) client.Object {
	return []func(string) client.Object{
		configMap, secret, networkPolicy, service, serviceAccount, role, roleBinding, deployment, cronJob, widget,
	}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: labels(name)}
}

func labels(name string) map[string]string { return map[string]string{"app": name} }

func configMap(name string) client.Object {
	return &corev1.ConfigMap{
		ObjectMeta: named(name),
		Data:       map[string]string{"log.level": "info", "server.properties": "port=8080\nthreads=16\ntimeout=30s\n"},
	}
}

func secret(name string) client.Object {
	return &corev1.Secret{
		ObjectMeta: named(name),
		StringData: map[string]string{"username": "app", "password": "of " + name},
	}
}

func service(name string) client.Object {
	return &corev1.Service{
		ObjectMeta: named(name),
		Spec: corev1.ServiceSpec{
			Selector: labels(name),
			Ports: []corev1.ServicePort{
				{Name: "http", Port: 80, TargetPort: intstr.FromString("http")},
				{Name: "metrics", Port: 9090},
			},
		},
	}
}

func deployment(name string) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: named(name),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels(name)},
			Template: podTemplate(name),
		},
	}
}

func podTemplate(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(name)},
		Spec: corev1.PodSpec{
			ServiceAccountName: name,
			Containers: []corev1.Container{{
				Name:  "app",
				Image: "registry.example.com/app:1.2.3",
				Env:   []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")},
				}},
			}},
		},
	}
}

func cronJob(name string) client.Object {
	template := podTemplate(name)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.CronJob{
		ObjectMeta: named(name),
		Spec: batchv1.CronJobSpec{
			Schedule:    "*/5 * * * *",
			Suspend:     new(true),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
		},
	}
}

func serviceAccount(name string) client.Object {
	return &corev1.ServiceAccount{ObjectMeta: named(name)}
}

func role(name string) client.Object {
	return &rbacv1.Role{
		ObjectMeta: named(name),
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}},
		},
	}
}

func roleBinding(name string) client.Object {
	return &rbacv1.RoleBinding{
		ObjectMeta: named(name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name}},
	}
}

func networkPolicy(name string) client.Object {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: named(name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: labels(name)},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(8080))}},
			}},
		},
	}
}

func widget(name string) client.Object {
	return &Widget{
		ObjectMeta: named(name),
		Spec:       WidgetSpec{Size: 3, Ports: []WidgetPort{{Name: "http"}, {Name: "metrics", Number: 9090}}},
	}
}
