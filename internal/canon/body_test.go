package canon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/internal/canon"
)

func TestBody(t *testing.T) {
	t.Parallel()
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c", UID: "not this", Annotations: map[string]string{canon.DigestPrefix + "o": "v1-0"}},
		Data:       map[string]string{"k": "v"},
	}
	body, err := canon.Body(obj, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "the uid", "7")
	require.NoError(t, err)
	want := `{"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap","metadata":{` +
		`"annotations":{"spec-hash.trueup-go.github.io/o":"v1-0"},"name":"c","namespace":"n","resourceVersion":"7","uid":"the uid"}}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	body, err = canon.Body(unstructuredOf(t, `{"apiVersion":"x/v1","kind":"Other","metadata":{"uid":"no","resourceVersion":"no","labels":{"a":"b"}},"spec":1,"status":2}`),
		schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}, "", "")
	require.NoError(t, err)
	require.Equal(t, `{"apiVersion":"example.org/v1","kind":"Thing","metadata":{"labels":{"a":"b"}},"spec":1}`, string(body))
}

// The API knows no variable without a value, so none is the empty one.
func TestBodyOfEnv(t *testing.T) {
	t.Parallel()
	const want = `"containers":[{"env":[{"name":"A","value":""},{"name":"B","value":"b"},{"name":"C","valueFrom":{}}],"name":"app"}]`
	variables := []corev1.EnvVar{{Name: "A"}, {Name: "B", Value: "b"}, {Name: "C", ValueFrom: &corev1.EnvVarSource{}}}
	typed := podWith(corev1.Container{Env: variables})
	requireBody := func(obj canon.Object, want string) {
		body, err := canon.Body(obj, corev1.SchemeGroupVersion.WithKind("Pod"), "", "")
		require.NoError(t, err)
		require.Contains(t, string(body), want)
	}
	requireBody(typed, want)
	require.NotContains(t, form(t, typed), `"A","value"`, "the digest is as it was")

	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for path, wraps := range map[string]bool{
			`{"spec":%s}`: true, `{"template":{"spec":%s}}`: true, `{"spec":{"template":{"spec":%s}}}`: true,
			`{"spec":{"jobTemplate":{"spec":{"template":{"spec":%s}}}}}`: true, `{"other":%s}`: false,
		} {
			implied := fmt.Sprintf(path, `{"`+list+`":[{"name":"x"},{"env":[{"name":"A"},{"name":"B","value":"b"},{"name":"C","valueFrom":{}},1]},null]}`)
			spelled := strings.ReplaceAll(implied, `{"name":"A"}`, `{"name":"A","value":""}`)
			for group, isBuiltIn := range map[string]bool{"batch/v1": true, "example.org/v1": false} {
				a, b := unstructuredOf(t, implied), unstructuredOf(t, spelled)
				a.SetAPIVersion(group)
				b.SetAPIVersion(group)
				before := a.DeepCopy()
				require.Equal(t, isBuiltIn && wraps, form(t, a) == form(t, b), "%s %s", group, implied)
				require.Equal(t, before, a, "it is only read")
			}
		}
	}
	requireBody(unstructuredOf(t, `{"apiVersion":"v1","spec":{"containers":[{"env":[{"name":"A"}]}]}}`), `{"name":"A","value":""}`)
}

func podWith(c corev1.Container) *corev1.Pod {
	c.Name = "app"
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
}

func TestBodyDuplicates(t *testing.T) {
	t.Parallel()
	port := func(port int32, protocol corev1.Protocol) corev1.ContainerPort {
		return corev1.ContainerPort{ContainerPort: port, Protocol: protocol}
	}
	cases := map[string]struct {
		reason string
		obj    canon.Object
		want   string
	}{
		"env": {
			"create takes two of a name, apply does not",
			podWith(corev1.Container{Env: []corev1.EnvVar{{Name: "A"}, {Name: "B"}, {Name: "A"}}}),
			"spec.containers[name=app].env[name=A]",
		},
		"ports": {
			"TCP is the default",
			podWith(corev1.Container{Ports: []corev1.ContainerPort{port(80, ""), port(80, "TCP")}}),
			"spec.containers[name=app].ports[containerPort=80,protocol=TCP]",
		},
		"protocols":  {"are part of the key", podWith(corev1.Container{Ports: []corev1.ContainerPort{port(53, "UDP"), port(53, "TCP")}}), ""},
		"containers": {"", &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "a"}}}}, "spec.containers[name=a]"},
		"no names": {
			"two empty keys are the same",
			&corev1.Pod{Spec: corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{{}, {}}}},
			"spec.imagePullSecrets[name=]",
		},
		"finalizers": {"a set has no doubles", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"f", "f"}}}, "metadata.finalizers[f]"},
		"unstructured": {
			"metadata is known everywhere",
			unstructuredOf(t, `{"kind":"K","metadata":{"ownerReferences":[{"uid":"u"},{"uid":"u"}]},"spec":{"env":[{"name":"a"},{"name":"a"}]}}`),
			"metadata.ownerReferences[uid=u]",
		},
		"atomic": {"lists may repeat themselves", podWith(corev1.Container{Args: []string{"a", "a"}}), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := canon.Body(c.obj, corev1.SchemeGroupVersion.WithKind("Pod"), "", "")
			if c.want == "" {
				require.NoError(t, err, c.reason)
				return
			}
			var duplicate *canon.DuplicateError
			require.ErrorAs(t, err, &duplicate, c.reason)
			require.Equal(t, c.want, duplicate.Path)
			require.ErrorContains(t, err, c.want)
		})
	}
}
