package controller //nolint:testpackage // tests unexported functions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestActivePods(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "dp-shop", UID: "deployment"}}
	replicaSets := []metav1.PartialObjectMetadata{
		{ObjectMeta: owned("new", "deployment")},
		{ObjectMeta: owned("old", "deployment")},
		{ObjectMeta: owned("theirs", "an earlier Deployment of the same name")},
		{ObjectMeta: metav1.ObjectMeta{Name: "orphaned", UID: "orphaned"}},
	}
	pod := func(name, owner string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{ObjectMeta: owned(name, owner), Status: corev1.PodStatus{Phase: phase}}
	}
	deleted := pod("e", "new", corev1.PodRunning)
	deleted.DeletionTimestamp = new(metav1.Now())
	stranger := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	list := []corev1.Pod{
		pod("b", "old", corev1.PodRunning), pod("a", "new", corev1.PodPending),
		pod("c", "new", corev1.PodSucceeded), pod("d", "new", corev1.PodFailed), deleted, stranger,
		pod("f", "theirs", corev1.PodRunning), pod("g", "orphaned", corev1.PodRunning),
		pod("h", "deployment", corev1.PodRunning), pod("i", "new", corev1.PodUnknown),
	}
	var names []string
	for _, pod := range activePods(list, replicaSets, deployment) {
		names = append(names, pod.Name)
	}
	require.Empty(t, cmp.Diff([]string{"a", "b"}, names))
}

func owned(name, owner string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, UID: types.UID(name),
		OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner), Controller: new(true)}},
	}
}
