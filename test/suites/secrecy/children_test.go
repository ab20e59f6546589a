package secrecy_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func (f *fixture) objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name}
}

// meta marks an annotation.
func (f *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: f.namespace, Name: name,
		Labels:      map[string]string{"app": name},
		Annotations: map[string]string{"vault.example.com/note": secretText},
	}
}

func (f *fixture) secret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: f.meta(name),
		Data:       map[string][]byte{"password": []byte(secretText)},
		StringData: map[string]string{"connection": "postgres://admin:" + secretText + "@db.example.com/vault"},
	}
}

func (f *fixture) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: f.meta(name),
		Data:       map[string]string{"password": secretText},
		BinaryData: map[string][]byte{"key": []byte(secretText)},
	}
}

// safe returns an object of a sensitive custom kind. Its lock may be Old or New.
func (f *fixture) safe(name, lock string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"lock": lock, "code": secretText, "pin": int64(secretNumber)}}}
	obj.SetGroupVersionKind(safeGVK)
	marked := f.meta(name)
	obj.SetNamespace(marked.Namespace)
	obj.SetName(marked.Name)
	obj.SetAnnotations(marked.Annotations)
	return obj
}

// account returns an object of a kind that is not sensitive, whose content anybody may read.
func (f *fixture) account(name string) *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{ObjectMeta: f.objectMeta(name)}
	account.Annotations = map[string]string{"vault.example.com/note": publicText}
	return account
}

// deployment has marks in the environment, the command and a probe.
func (f *fixture) deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: f.meta(name),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"vault.example.com/note": secretText}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "vault", Image: "example.com/vault:1",
					Command: []string{"vault", "--password=" + secretText},
					Env:     []corev1.EnvVar{{Name: "PASSWORD", Value: secretText}},
				}}},
			},
		},
	}
}

// untyped is a Deployment that no Go type holds back.
func (f *fixture) untyped(name string, spoil func(spec map[string]any)) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(f.deployment(name))
	if err != nil {
		f.t.Fatal(err)
	}
	delete(content, "status")
	obj := &unstructured.Unstructured{Object: content}
	obj.SetAPIVersion("apps/v1")
	obj.SetKind("Deployment")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "spec", "template", "metadata", "creationTimestamp")
	spec, _ := content["spec"].(map[string]any)
	spoil(spec)
	return obj
}

// with returns obj after change.
func with[T any](obj T, change func(T)) T {
	change(obj)
	return obj
}
