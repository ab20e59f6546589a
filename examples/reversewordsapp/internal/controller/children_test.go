package controller //nolint:testpackage // tests unexported functions

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/reversewordsapp/templates"
	"github.com/trueup-go/trueup/hash"
)

// TestDefaultChildren has the default children in full. With other digests, an update of the operator writes all children.
func TestDefaultChildren(t *testing.T) {
	selector := map[string]string{
		"app.kubernetes.io/name": "reversewordsapp", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/component": "web",
	}
	label := with(selector, "app", "shop")
	probe := &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: intstr.FromInt32(8080)}},
		InitialDelaySeconds: 5, TimeoutSeconds: 2, PeriodSeconds: 15,
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "dp-shop", Labels: label},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: with(label, "app.kubernetes.io/managed-by", "reverse-words-operator")},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot:   new(true),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name:  "reversewords",
						Image: "quay.io/mavazque/reversewords:v1",
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: new(false),
							Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
						Ports:          []corev1.ContainerPort{{Name: "reversewords", ContainerPort: 8080}},
						LivenessProbe:  probe,
						ReadinessProbe: probe,
					}},
				},
			},
		},
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "service-shop", Labels: label},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeNodePort,
			Selector: selector,
			Ports:    []corev1.ServicePort{{Name: "http", Port: 8080}},
		},
	}
	made, err := childrenFor(appCalled("shop"), overridden(nil))
	require.NoError(t, err)
	made.deployment.TypeMeta, made.service.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{} // not part of the digest
	require.Empty(t, cmp.Diff(deployment, made.deployment))
	require.Empty(t, cmp.Diff(service, made.service))
	require.Equal(t, digest(t, deployment), digest(t, made.deployment))
	require.Equal(t, digest(t, service), digest(t, made.service))
}

func TestReplicas(t *testing.T) {
	for asked, want := range map[int32]int32{0: 1, 1: 1, 7: 7} {
		app := appCalled("shop")
		app.Spec.Replicas = asked
		made, err := childrenFor(app, overridden(nil))
		require.NoError(t, err)
		require.Equal(t, want, *made.deployment.Spec.Replicas)
	}
}

// TestNames checks names that are no strings in YAML, and names that are invalid or too long.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		name, app, says string
	}{
		{name: "short", app: "a"},
		{name: "a digit first", app: "1st"},
		{name: "a number", app: "0x10"},
		{name: "null in YAML", app: "null"},
		{name: "the longest that fits", app: strings.Repeat("a", 55)},
		{name: "one too long", app: strings.Repeat("a", 56), says: "has 56 characters, and its children's names leave room for 55"},
		{name: "not a DNS label", app: "a.b", says: "DNS-1035"},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := appCalled(test.app)
			made, err := childrenFor(app, overridden(nil))
			require.NoError(t, err)
			require.Equal(t, test.app, made.service.Spec.Selector[operator.InstanceLabel])
			err = operator.CheckNames(app.Name, made.deployment.Name, made.service.Name)
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				return
			}
			require.NoError(t, err)
			require.Empty(t, validation.IsDNS1035Label(made.service.Name))
			require.Empty(t, validation.IsDNS1123Label(made.deployment.Name))
			require.Empty(t, validation.IsValidLabelValue(made.service.Spec.Selector[operator.InstanceLabel]))
		})
	}
}

// TestHostileSpec renders strings that the API server would refuse. They must not add YAML to a
// manifest.
func TestHostileSpec(t *testing.T) {
	const hostile = "latest\"\n---\nkind: Pod # {{.Name}}"
	app := appCalled("shop")
	app.Spec.ServiceType = hostile
	made, err := childrenFor(app, overridden(nil))
	require.NoError(t, err)
	require.Equal(t, corev1.ServiceType(hostile), made.service.Spec.Type, "quoted")

	app.Spec.AppVersion = hostile
	_, err = childrenFor(app, overridden(nil))
	refused := &manifest.Error{}
	require.ErrorAs(t, err, &refused, "not quoted")
	require.Equal(t, "deployment.yaml", refused.File)
	require.Equal(t, "spec.template.spec.containers[0].image", refused.Path)
}

// TestPodLabels renders templates without the label that the operator needs, and with another value.
func TestPodLabels(t *testing.T) {
	const pods = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: any}\nspec: {template: {metadata: {labels: %}}}\n"
	for _, labels := range []string{"null", "{app.kubernetes.io/managed-by: Helm}"} {
		files := fstest.MapFS{"deployment.yaml": {Data: []byte(strings.Replace(pods, "%", labels, 1))}}
		made, err := childrenFor(appCalled("shop"), overridden(files))
		require.NoError(t, err)
		require.Equal(t, map[string]string{operator.ManagedByLabel: Name}, made.deployment.Spec.Template.Labels)
	}
}

// overridden returns a renderer of the default templates and of files, which override them.
func overridden(files fstest.MapFS) *manifest.Renderer {
	return manifest.NewRenderer(manifest.Overlay(files, templates.Files), scheme.Scheme)
}

func appCalled(name string) *v1alpha1.ReverseWordsApp {
	return &v1alpha1.ReverseWordsApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: name},
		Spec:       v1alpha1.ReverseWordsAppSpec{Replicas: 2, AppVersion: "v1", ServiceType: corev1.ServiceTypeNodePort},
	}
}

// with returns labels with more keys and values.
func with(labels map[string]string, more ...string) map[string]string {
	labels = maps.Clone(labels)
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

func digest(t *testing.T, obj hash.Obj) string {
	t.Helper()
	digest, err := hash.Object(obj)
	require.NoError(t, err)
	return digest
}
