package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
)

const (
	// appLabel holds the ReverseWordsApp's name, on its children and their pods.
	appLabel = "app"
	// managedByLabel selects what the manager's cache holds: on the children, where
	// ensure stamps it, and on pods and ReplicaSets, which have it from the template.
	managedByLabel = "app.kubernetes.io/managed-by"
)

const (
	image     = "quay.io/mavazque/reversewords"
	container = "reversewords"
	port      = 8080
)

// Each function below returns what the operator cares about and nothing else: the API
// server fills in the rest, and ensure leaves it alone.

func deploymentFor(app *v1alpha1.ReverseWordsApp) *appsv1.Deployment {
	selector := map[string]string{appLabel: app.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: namesFor(app.Name).deployment, Labels: selector},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(max(app.Spec.Replicas, 1)),
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: app.Name, managedByLabel: Name}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:           container,
					Image:          image + ":" + app.Spec.AppVersion,
					Ports:          []corev1.ContainerPort{{Name: container, ContainerPort: port}},
					LivenessProbe:  healthProbe(),
					ReadinessProbe: healthProbe(),
				}}},
			},
		},
	}
}

func serviceFor(app *v1alpha1.ReverseWordsApp) *corev1.Service {
	selector := map[string]string{appLabel: app.Name}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: namesFor(app.Name).service, Labels: selector},
		Spec: corev1.ServiceSpec{
			Type:     app.Spec.ServiceType,
			Selector: selector,
			Ports:    []corev1.ServicePort{{Name: "http", Port: port}},
		},
	}
}

func healthProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: intstr.FromInt32(port)},
		},
		InitialDelaySeconds: 5,
		TimeoutSeconds:      2,
		PeriodSeconds:       15,
	}
}
