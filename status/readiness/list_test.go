package readiness_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/status/readiness"
)

var shopLabels = map[string]string{"app": "shop"}

func TestPods(t *testing.T) {
	reader := fake.NewFakeClient(
		replicaSetOf("new", "workload"), replicaSetOf("old", "workload"), replicaSetOf("theirs", "an earlier Deployment of the same name"),
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "orphaned", UID: "orphaned", Labels: shopLabels}},
		podOf("b", "old", corev1.PodRunning), podOf("a", "new", corev1.PodPending),
		podOf("c", "new", corev1.PodSucceeded), podOf("d", "new", corev1.PodFailed), deleted(podOf("e", "new", corev1.PodRunning)),
		podOf("f", "theirs", corev1.PodRunning), podOf("g", "orphaned", corev1.PodRunning),
		podOf("i", "new", corev1.PodUnknown), podOf("j", "workload", corev1.PodRunning),
		otherLabels(podOf("k", "new", corev1.PodRunning)), otherNamespace(podOf("l", "new", corev1.PodRunning)), uncontrolled(podOf("m", "", corev1.PodRunning)),
	)
	meta := metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "workload"}
	selector := &metav1.LabelSelector{MatchLabels: shopLabels}
	for _, test := range []struct {
		name     string
		workload client.Object
		want     []string
	}{
		{"Deployment", &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector}}, []string{"a", "b"}},
		{"ReplicaSet", &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selector}}, []string{"j"}},
		{"StatefulSet", &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector}}, []string{"j"}},
		{"DaemonSet", &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector}}, []string{"j"}},
		{"Job", &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Selector: selector}}, []string{"j"}},
		{"Deployment without a selector", &appsv1.Deployment{ObjectMeta: meta}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, workload := range []client.Object{test.workload, untyped(t, test.workload)} {
				found, err := readiness.Pods(t.Context(), reader, workload)
				require.NoError(t, err)
				var names []string
				for _, pod := range found {
					names = append(names, pod.Name)
				}
				require.Empty(t, cmp.Diff(test.want, names))
			}
		})
	}
}

func TestPodsOfNothing(t *testing.T) {
	var none *appsv1.Deployment
	for _, workload := range []client.Object{nil, none} {
		found, err := readiness.Pods(t.Context(), fake.NewFakeClient(), workload)
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

func TestPodsFails(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "workload"}
	selector := &metav1.LabelSelector{MatchLabels: shopLabels}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector}}
	odd := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "odd"}, "spec": "odd"}}
	odd.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	metadata := &metav1.PartialObjectMetadata{ObjectMeta: meta}
	metadata.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	down := errors.New("out of reach")
	for _, test := range []struct {
		name     string
		workload client.Object
		fails    client.ObjectList // the list that cannot be read
		is       error
		says     string
	}{
		{
			name: "a kind without pods", workload: &corev1.Service{ObjectMeta: meta}, is: answer.ErrRefused,
			says: `cannot list the pods of Service "default/shop": refused: it is none of the kinds that readiness.Pods supports`,
		},
		{name: "metadata alone", workload: metadata, is: answer.ErrRefused, says: `cannot list the pods of Deployment "default/shop": refused`},
		{name: "another content", workload: odd, says: `cannot list the pods of Deployment "/odd": `},
		{
			name: "a selector that is invalid", says: `cannot list the pods of Deployment "default/shop": `,
			workload: &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Oddly"}}},
			}},
		},
		{
			name: "no ReplicaSets", workload: deployment, fails: &metav1.PartialObjectMetadataList{}, is: down,
			says: `cannot list the pods of Deployment "default/shop": out of reach`,
		},
		{name: "no pods", workload: deployment, fails: &corev1.PodList{}, is: down, says: `cannot list the pods of Deployment "default/shop": out of reach`},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := readiness.Pods(t.Context(), failingList(test.fails, down), test.workload)
			require.ErrorContains(t, err, test.says)
			require.Nil(t, found)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

// failingList returns a reader without objects, whose lists of that type fail.
func failingList(failing client.ObjectList, with error) client.Reader {
	return interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if reflect.TypeOf(list) == reflect.TypeOf(failing) {
				return with
			}
			return c.List(ctx, list, opts...)
		},
	})
}

func replicaSetOf(name, owner string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: controlled(name, owner)}
}

func podOf(name, owner string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: controlled(name, owner), Status: corev1.PodStatus{Phase: phase}}
}

func controlled(name, owner string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(name), Labels: shopLabels,
		OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner), Controller: new(true)}},
	}
}

// deleted returns a pod whose finalizer delays its deletion.
func deleted(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp, pod.Finalizers = &longAgo, []string{"example.org/hold"}
	return pod
}

func otherLabels(pod *corev1.Pod) *corev1.Pod {
	pod.Labels = nil
	return pod
}

func otherNamespace(pod *corev1.Pod) *corev1.Pod {
	pod.Namespace = "elsewhere"
	return pod
}

func uncontrolled(pod *corev1.Pod) *corev1.Pod {
	pod.OwnerReferences = nil
	return pod
}
