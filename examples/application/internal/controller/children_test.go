package controller //nolint:testpackage // tests unexported functions

import (
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ripemd160" //nolint:gosec,staticcheck // not used for security
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/templates"
	"github.com/trueup-go/trueup/hash"
)

func shop(spec v1alpha1.ApplicationSpec) *v1alpha1.Application {
	return &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "shop"}, Spec: spec}
}

func defaults() *manifest.Renderer {
	return manifest.NewRenderer(templates.Files, clientgoscheme.Scheme)
}

// TestDigests compares the digests of the children with digests that an earlier version of the operator
// stored. With other digests, an update of the operator would write all children.
func TestDigests(t *testing.T) {
	for name, test := range map[string]struct {
		spec v1alpha1.ApplicationSpec
		want []string
	}{
		"all fields": {
			v1alpha1.ApplicationSpec{Version: "1.0", Image: "example.org/shop:1.0", AmountPods: new(int32(2)), Title: "Universe"},
			[]string{
				"66978faf548a67e35e7815772bcd9c112b8b2a86",
				"b63053b4f0b04fc865c649c1879e443c7ed9b0ae",
				"a98f8e20a1e183c03e7536e8861311051c38d420",
			},
		},
		"no title and no number": {
			v1alpha1.ApplicationSpec{Version: "1.0.0", Image: "docker.io/nheidloff/simplemicroservice:v1.0.117"},
			[]string{
				"4bd6273c2cfd2acc547e9fa5f81a89608a0971f3",
				"2bba2932fc596ee214dbc29bd97755bf3dcd6e82",
				"a98f8e20a1e183c03e7536e8861311051c38d420",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := childrenFor(shop(test.spec), defaults())
			require.NoError(t, err)
			for i, child := range made.inOrder() {
				got, err := hash.Using(ripemd160.New).Object(child)
				require.NoError(t, err)
				require.Equal(t, test.want[i], got, "%T", child)
			}
		})
	}
}

func TestChildren(t *testing.T) {
	made, err := childrenFor(shop(v1alpha1.ApplicationSpec{
		Version: "1.0", Image: "example.org/shop:1.0", AmountPods: new(int32(2)), Title: "Universe",
	}), defaults())
	require.NoError(t, err)
	selector := map[string]string{
		"app.kubernetes.io/name": "application", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/component": "microservice",
	}
	labels := with(selector, "app", "shop-microservice")
	versioned := with(labels, "app.kubernetes.io/version", "1.0")
	ofPods := with(versioned, "app.kubernetes.io/managed-by", "application-operator")
	probe := func(path string, delay int32) *corev1.Probe {
		return &corev1.Probe{InitialDelaySeconds: delay, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8081)},
		}}
	}
	seccomp := &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	want := &children{
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "shop-secret-greeting", Labels: labels},
			StringData: map[string]string{"GREETING_MESSAGE": "Universe"},
		},
		deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "shop-deployment-microservice", Labels: versioned},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(2)),
				Selector: &metav1.LabelSelector{MatchLabels: selector},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{
						Labels:      ofPods,
						Annotations: map[string]string{"application.sample.ibm.com/greeting-hash": "v1-abf43e71553adfe51e4d1ad4fb4074d5"},
					},
					Spec: corev1.PodSpec{SecurityContext: seccomp, Containers: []corev1.Container{{
						Name:  "shop-microservice",
						Image: "example.org/shop:1.0",
						Ports: []corev1.ContainerPort{{ContainerPort: 8081}},
						Env: []corev1.EnvVar{{Name: "GREETING_MESSAGE", ValueFrom: &corev1.EnvVarSource{
							SecretKeyRef: &corev1.SecretKeySelector{
								LocalObjectReference: corev1.LocalObjectReference{Name: "shop-secret-greeting"},
								Key:                  "GREETING_MESSAGE",
							},
						}}},
						ReadinessProbe: probe("/q/health/ready", 20),
						LivenessProbe:  probe("/q/health/live", 40),
					}}},
				},
			},
		},
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "mall", Name: "shop-service-microservice", Labels: labels,
			},
			Spec: corev1.ServiceSpec{
				Type:     corev1.ServiceTypeNodePort,
				Selector: selector,
				Ports:    []corev1.ServicePort{{Port: 8081}},
			},
		},
	}
	require.Empty(t, cmp.Diff(want, made, cmp.AllowUnexported(children{}), cmpopts.IgnoreTypes(metav1.TypeMeta{})))
}

// with returns a copy of labels with more of them.
func with(labels map[string]string, more ...string) map[string]string {
	labels = maps.Clone(labels)
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

// TestRestrictedTemplates compares the documented templates for pod security with the built-in ones: they
// differ in the security contexts.
func TestRestrictedTemplates(t *testing.T) {
	app := shop(v1alpha1.ApplicationSpec{Version: "1", Image: "shop"})
	want, err := childrenFor(app, defaults())
	require.NoError(t, err)
	restricted := os.DirFS("../../config/templates/restricted")
	made, err := childrenFor(app, manifest.NewRenderer(manifest.Overlay(restricted, templates.Files), clientgoscheme.Scheme))
	require.NoError(t, err)
	require.NotEmpty(t, cmp.Diff(want, made, cmp.AllowUnexported(children{})))
	require.Empty(t, cmp.Diff(want, made, cmp.AllowUnexported(children{}),
		cmpopts.IgnoreTypes(&corev1.PodSecurityContext{}, &corev1.SecurityContext{})))
}

// TestForeignTemplate renders a template without any label: the pods have the label that the operator needs.
func TestForeignTemplate(t *testing.T) {
	override := fstest.MapFS{"labels.tpl": {Data: []byte(`{{define "selector"}}a: b{{end}}{{define "labels"}}a: b{{end}}`)}}
	made, err := childrenFor(shop(v1alpha1.ApplicationSpec{Version: "1", Image: "shop"}),
		manifest.NewRenderer(manifest.Overlay(override, templates.Files), clientgoscheme.Scheme))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b"}, made.service.Labels)
	require.Equal(t, map[string]string{"a": "b"}, made.service.Spec.Selector)
	require.Equal(t, map[string]string{
		"a": "b", "app.kubernetes.io/version": "1", "app.kubernetes.io/managed-by": "application-operator",
	}, made.deployment.Spec.Template.Labels)
}

func TestNames(t *testing.T) {
	for _, test := range []struct {
		name, application, says string
	}{
		{name: "short", application: "a"},
		{name: "the longest that fits", application: strings.Repeat("a", 39)},
		{name: "one too long", application: strings.Repeat("a", 40), says: "has 40 characters, and its children's names leave room for 39"},
		{name: "not a DNS label", application: "a.b", says: "DNS-1035"},
		{name: "not the name of a Service", application: "1a", says: "DNS-1035"},
		{name: "a number in YAML", application: "1e3", says: "DNS-1035"},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := shop(v1alpha1.ApplicationSpec{Version: "1", Image: "shop"})
			app.Name = test.application
			made, err := childrenFor(app, defaults())
			require.NoError(t, err)
			if err := made.checkNames(app.Name); test.says != "" {
				require.ErrorContains(t, err, test.says)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// TestData renders a template that uses fields which the built-in templates do not use.
func TestData(t *testing.T) {
	app := shop(v1alpha1.ApplicationSpec{Version: "1", Image: "shop"})
	for want, labels := range map[string]map[string]string{"mall, ": nil, "mall, blue": {"team": "blue"}} {
		app.Labels = labels
		override := fstest.MapFS{"secret.yaml": {Data: []byte(`apiVersion: v1
kind: Secret
metadata:
  name: {{.Name}}
stringData:
  text: {{quote (printf "%s, %s" .Namespace (index .Labels "team"))}}
`)}}
		made, err := childrenFor(app, manifest.NewRenderer(manifest.Overlay(override, templates.Files), clientgoscheme.Scheme))
		require.NoError(t, err)
		require.Equal(t, want, made.secret.StringData["text"])
		require.Equal(t, "shop", made.deployment.Spec.Template.Spec.Containers[0].Env[0].ValueFrom.SecretKeyRef.Name)
	}
}

// TestContent merges data and stringData.
func TestContent(t *testing.T) {
	secret := &corev1.Secret{
		Data:       map[string][]byte{"a": []byte("1"), "b": []byte("2")},
		StringData: map[string]string{"b": "3", "c": "4"},
	}
	require.Equal(t, map[string][]byte{"a": []byte("1"), "b": []byte("3"), "c": []byte("4")}, contentOf(secret))
	require.Len(t, secret.Data, 2, "the Secret is not modified")
	require.Empty(t, contentOf(&corev1.Secret{}))
}
