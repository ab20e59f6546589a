package delta_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// nobodys are the fields of an object that nobody owns.
var nobodys managedfields.Owned

func TestDiff(t *testing.T) {
	t.Parallel()
	limits := func(text string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse(text)}}}
	}
	secret := func(value string) *corev1.Secret {
		return &corev1.Secret{Data: map[string][]byte{"password": []byte(value)}}
	}
	cases := map[string]struct {
		reason        string
		before, after canon.Object
		want          []delta.Change
	}{
		"numbers": {
			"are shown",
			&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}},
			&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3), Paused: true}},
			[]delta.Change{{"spec.paused", "", "true"}, {"spec.replicas", "1", "3"}},
		},
		"quantities": {
			"are numbers",
			podWith(limits("1Gi")),
			podWith(limits("2Gi")),
			[]delta.Change{{"spec.containers[name=app].resources.limits[memory]", "1Gi", "2Gi"}},
		},
		"text": {"may be secret", secret("a"), secret("b"), []delta.Change{{Path: "data[password]"}}},
		"digits": {
			"may be a password",
			secret("1"),
			&corev1.Secret{StringData: map[string]string{"password": "2"}},
			[]delta.Change{{Path: "data[password]"}},
		},
		"removal": {
			"of an item and of a key",
			podWith(corev1.Container{Env: env("A", "B")}),
			podWith(corev1.Container{Env: env("B")}),
			[]delta.Change{{Path: "spec.containers[name=app].env[name=A]"}},
		},
		"order": {
			"of a keyed list",
			podWith(corev1.Container{Env: env("A", "B")}),
			podWith(corev1.Container{Env: env("B", "A")}),
			[]delta.Change{{Path: "spec.containers[name=app].env"}},
		},
		"set order": {
			"changes the form too",
			&corev1.Pod{ObjectMeta: meta(nil, "f", "g")},
			&corev1.Pod{ObjectMeta: meta(nil, "g", "f")},
			[]delta.Change{{Path: "metadata.finalizers"}},
		},
		"atomic": {
			"item by item",
			podWith(corev1.Container{Args: []string{"a", "b"}}),
			podWith(corev1.Container{Args: []string{"c"}}),
			[]delta.Change{{Path: "spec.containers[name=app].args[0]"}, {Path: "spec.containers[name=app].args[1]"}},
		},
		"emptied": {
			"nil is not []",
			podWith(corev1.Container{}),
			podWith(corev1.Container{Args: []string{}}),
			[]delta.Change{{Path: "spec.containers[name=app].args"}},
		},
		"metadata": {
			"without names and what the server sets",
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", Labels: map[string]string{"x": "1"}}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "b", Annotations: map[string]string{canon.DigestPrefix + "o": "2"}}},
			[]delta.Change{{Path: "metadata.annotations[spec-hash.trueup-go.github.io/o]"}, {Path: "metadata.labels[x]"}},
		},
		"status": {"is not compared", &corev1.Pod{Status: corev1.PodStatus{Phase: "Running"}}, &corev1.Pod{}, nil},
		"types": {
			"a number becomes a text",
			unstructuredOf(t, `{"spec":{"a":1,"b":[1],"c":{"d":1}}}`),
			unstructuredOf(t, `{"spec":{"a":"1","b":{},"c":2}}`),
			[]delta.Change{{"spec.a", "1", ""}, {Path: "spec.b"}, {"spec.c", "", "2"}},
		},
		"unstructured": {
			"lists by place, keys by name",
			unstructuredOf(t, `{"spec":{"a.b":[1,2]}}`),
			unstructuredOf(t, `{"spec":{"a.b":[1,3,4]}}`),
			[]delta.Change{{"spec[a.b][1]", "2", "3"}, {"spec[a.b][2]", "", "4"}},
		},
		"nil": {"cannot be compared", nil, nil, []delta.Change{{}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, delta.Diff(c.before, c.after, nobodys)); diff != "" {
				t.Errorf("%s: -want +got\n%s", c.reason, diff)
			}
		})
	}
}

// A value may become an object, and an object a value.
func TestDiffOfWhatIsAnotherKindOfValue(t *testing.T) {
	t.Parallel()
	number, object := unstructuredOf(t, `{"spec":{"a":1}}`), unstructuredOf(t, `{"spec":{"a":{"b":2}}}`)
	require.Empty(t, cmp.Diff([]delta.Change{{Path: "spec.a", Old: "1"}}, delta.Diff(number, object, nobodys)))
	require.Empty(t, cmp.Diff([]delta.Change{{Path: "spec.a", New: "1"}}, delta.Diff(object, number, nobodys)))
	require.Empty(t, cmp.Diff([]delta.Change{{Path: "spec.a", Old: "1"}}, delta.Unsatisfied(number, object, nobodys)))
}
