package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
)

// What is written on children, beside their names.
const (
	// managedByLabel selects what the manager's cache holds.
	managedByLabel = "app.kubernetes.io/managed-by"
	// digestLabel holds the digest of each child's desired state.
	digestLabel = "utilities.operators.sample.ibm.com/hash"
	// appLabel and versionLabel are on the Deployment and its pods.
	appLabel     = "app"
	versionLabel = "app.kubernetes.io/version"
	// greetingAnnotation holds the digest of the greeting that a pod was started
	// with. A new title changes it, and so rolls out.
	greetingAnnotation = "application.sample.ibm.com/greeting-hash"
)

const (
	greetingKey = "GREETING_MESSAGE"
	port        = 8081
)

// Each function below returns what the operator cares about and nothing else: the
// API server fills in the rest, and ensure leaves it alone.

func greetingFor(app *v1alpha1.Application) *corev1.Secret {
	title := app.Spec.Title
	if title == "" {
		title = v1alpha1.DefaultTitle
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: namesFor(app.Name).secret},
		Data:       map[string][]byte{greetingKey: []byte(title)},
	}
}

// deploymentFor runs the microservice with the greeting that has greetingDigest. A
// greeting is no secret to those who can read Deployments; where it were one, an
// HMAC with a key of the operator's own would take the place of a plain digest.
func deploymentFor(app *v1alpha1.Application, greetingDigest string) *appsv1.Deployment {
	names := namesFor(app.Name)
	labels := map[string]string{appLabel: names.microservice, versionLabel: app.Spec.Version}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: names.deployment, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(ptr.Deref(app.Spec.AmountPods, v1alpha1.DefaultAmountPods)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: names.microservice}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      labels,
					Annotations: map[string]string{greetingAnnotation: greetingDigest},
				},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  names.microservice,
					Image: app.Spec.Image,
					Ports: []corev1.ContainerPort{{ContainerPort: port}},
					Env: []corev1.EnvVar{{Name: greetingKey, ValueFrom: &corev1.EnvVarSource{
						SecretKeyRef: &corev1.SecretKeySelector{
							LocalObjectReference: corev1.LocalObjectReference{Name: names.secret},
							Key:                  greetingKey,
						},
					}}},
					ReadinessProbe: httpProbe("/q/health/ready"),
					LivenessProbe:  httpProbe("/q/health/live"),
				}}},
			},
		},
	}
}

func serviceFor(app *v1alpha1.Application) *corev1.Service {
	names := namesFor(app.Name)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: names.service, Labels: map[string]string{appLabel: names.microservice}},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeNodePort,
			Selector: map[string]string{appLabel: names.microservice},
			Ports:    []corev1.ServicePort{{Port: port}}, // the server picks the node port
		},
	}
}

func httpProbe(path string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)},
	}}
}
