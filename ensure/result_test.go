package ensure_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

func TestChangesShowNumbersAndBooleansOnly(t *testing.T) {
	before := with(deployment(), func(o *appsv1.Deployment) {
		o.Spec.Replicas = new(int32(2))
		o.Spec.Paused = true
		o.Annotations = map[string]string{"password": secret}
		o.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: secret}, {Name: "PIN", Value: "1234"}}
		o.Spec.Template.Spec.Containers[0].Args = []string{secret}
	})
	after := with(deployment(), func(o *appsv1.Deployment) {
		o.Spec.Replicas = new(int32(3))
		o.Annotations = map[string]string{"password": secret + "3"}
		o.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: secret + "3"}, {Name: "PIN", Value: "4321"}}
		o.Spec.Template.Spec.Containers[0].Args = []string{secret + "3"}
		o.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(7))
	})
	s := newServer()
	created(t, s, before)
	result := mustEnsure(t, newEnsurer(s), after)

	const container = "spec.template.spec.containers[name=web]."
	require.Empty(t, cmp.Diff([]ensure.Change{
		{Path: "metadata.annotations[password]"},
		{Path: digestPath},
		{Path: "spec.paused", Old: "true"},
		{Path: "spec.replicas", Old: "2", New: "3"},
		{Path: container + "args[0]"},
		{Path: container + "env[name=PASSWORD].value"},
		{Path: container + "env[name=PIN].value"},
		{Path: "spec.template.spec.terminationGracePeriodSeconds", New: "7"},
	}, result.Changes))
	require.NotContains(t, fmt.Sprint(result.Changes), secret)
	require.NotContains(t, fmt.Sprint(result.Changes), "1234", "a string of digits is a string")
}

func TestChangesOfSecretsShowNothing(t *testing.T) {
	key := metav1.ObjectMeta{Namespace: "default", Name: "password"}
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, &corev1.Secret{ObjectMeta: key, StringData: map[string]string{"password": secret, "pin": "1234"}})
	result := mustEnsure(t, e, &corev1.Secret{ObjectMeta: key, StringData: map[string]string{"password": "changed", "pin": "4321"}})
	require.Empty(t, cmp.Diff([]ensure.Change{{Path: "data[password]"}, {Path: "data[pin]"}, {Path: digestPath}}, result.Changes))
}

func TestChangesOfUnstructuredContentShowNoStrings(t *testing.T) {
	at := func(size int64, password string) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Shop",
			"metadata": map[string]any{"namespace": "default", "name": "branch", "annotations": map[string]any{"password": password}},
			"spec":     map[string]any{"size": size},
		}}
	}
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, at(1, secret))
	result := mustEnsure(t, e, at(2, "changed"))
	require.Empty(t, cmp.Diff([]ensure.Change{
		{Path: "metadata.annotations[password]"},
		{Path: digestPath},
		{Path: "spec.size", Old: "1", New: "2"},
	}, result.Changes))
}

func TestChangeReadsAsASentence(t *testing.T) {
	cases := map[string]ensure.Change{
		"spec.replicas 2 -> 3":      {Path: "spec.replicas", Old: "2", New: "3"},
		"spec.replicas none -> 3":   {Path: "spec.replicas", New: "3"},
		"spec.paused true -> none":  {Path: "spec.paused", Old: "true"},
		"metadata.labels[app]":      {Path: "metadata.labels[app]"},
		"spec.paused false -> true": {Path: "spec.paused", Old: "false", New: "true"},
	}
	for want, change := range cases {
		require.Equal(t, want, change.String())
	}
}

func TestDriftShowsWhatWasUndone(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	desired := with(deployment(), func(o *appsv1.Deployment) { o.Spec.Replicas = new(int32(2)) })
	mustEnsure(t, e, desired)
	s.edit(t, desired, `{"spec":{"replicas":5}}`)
	result := mustEnsure(t, e, desired)
	require.Equal(t, ensure.Drifted, result.Cause)
	require.Empty(t, cmp.Diff([]ensure.Change{{Path: "spec.replicas", Old: "5", New: "2"}}, result.Changes))
	require.Equal(t, int32(2), *result.Live.Spec.Replicas)
}

// What another manager writes between our read and our apply is its own, not a change of ours.
func TestChangesLeaveOutWhatOthersWriteMeanwhile(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, deployment())
	s.before = func(verb string) {
		if verb == "apply" {
			s.before = nil
			s.edit(t, deployment(), `{"spec":{"replicas":7}}`)
		}
	}
	desired := with(deployment(), func(o *appsv1.Deployment) { o.Spec.Paused = true })
	result := mustEnsure(t, e, desired)
	require.Empty(t, cmp.Diff([]ensure.Change{{Path: digestPath}, {Path: "spec.paused", New: "true"}}, result.Changes))
	require.Equal(t, int32(7), *result.Live.Spec.Replicas)
}
