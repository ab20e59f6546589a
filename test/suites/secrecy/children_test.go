package secrecy_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func (s *scene) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

// meta marks an annotation.
func (s *scene) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: s.namespace, Name: name,
		Labels:      map[string]string{"app": name},
		Annotations: map[string]string{"vault.example.com/note": mark},
	}
}

func (s *scene) secret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: s.meta(name),
		Data:       map[string][]byte{"password": []byte(mark)},
		StringData: map[string]string{"connection": "postgres://admin:" + mark + "@db.example.com/vault"},
	}
}

func (s *scene) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: s.meta(name),
		Data:       map[string]string{"password": mark},
		BinaryData: map[string][]byte{"key": []byte(mark)},
	}
}

// safe returns an object of a sensitive custom kind. Its lock may be Old or New.
func (s *scene) safe(name, lock string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"lock": lock, "code": mark, "pin": int64(pin)}}}
	obj.SetGroupVersionKind(safeGVK)
	marked := s.meta(name)
	obj.SetNamespace(marked.Namespace)
	obj.SetName(marked.Name)
	obj.SetAnnotations(marked.Annotations)
	return obj
}

// account returns an object of a kind that is not sensitive, whose content anybody may read.
func (s *scene) account(name string) *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{ObjectMeta: s.named(name)}
	account.Annotations = map[string]string{"vault.example.com/note": open}
	return account
}

// deployment has marks in the environment, the command and a probe.
func (s *scene) deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: s.meta(name),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"vault.example.com/note": mark}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "vault", Image: "example.com/vault:1",
					Command: []string{"vault", "--password=" + mark},
					Env:     []corev1.EnvVar{{Name: "PASSWORD", Value: mark}},
				}}},
			},
		},
	}
}

// untyped is a Deployment that no Go type holds back.
func (s *scene) untyped(name string, spoil func(spec map[string]any)) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.deployment(name))
	if err != nil {
		s.t.Fatal(err)
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
