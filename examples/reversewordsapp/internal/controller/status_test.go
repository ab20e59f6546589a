package controller //nolint:testpackage // tests unexported functions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
)

// TestStatus has a Deployment and its pods change, as its controller would change them.
func TestStatus(t *testing.T) {
	c, app, pass := newPass(t)
	ensuretest.Converge(t, c, pass)
	requireStatus(t, c, app, nil, "False Progressing", `Deployment "dp-words": its controller has not looked at it yet`)
	deployment := &appsv1.Deployment{}
	require.NoError(t, c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "dp-words"}, deployment))
	labels := deployment.Spec.Template.Labels
	require.NoError(t, c.Create(t.Context(), &appsv1.ReplicaSet{ObjectMeta: controlled("dp-words-7d", labels, deployment)}))
	replicaSet := &appsv1.ReplicaSet{}
	require.NoError(t, c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "dp-words-7d"}, replicaSet))

	// A pod with the same labels belongs to somebody else.
	createPod(t, c, metav1.ObjectMeta{Namespace: "default", Name: "a-stranger", Labels: labels}, "CrashLoopBackOff")
	createPod(t, c, controlled("dp-words-7d-b", labels, replicaSet), "ContainerCreating")
	createPod(t, c, controlled("dp-words-7d-a", labels, replicaSet), "ImagePullBackOff")
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 2, UpdatedReplicas: 2}
	require.NoError(t, c.Status().Update(t.Context(), deployment))
	ensuretest.Converge(t, c, pass)
	pods := []string{"dp-words-7d-a", "dp-words-7d-b"}
	requireStatus(t, c, app, pods, "False ImagePullBackOff",
		`Deployment "dp-words": pod "dp-words-7d-a": container reversewords waits: ImagePullBackOff`)

	require.Equal(t, int32(0), *reread(t, c, app).Status.Replicas)

	// A surplus pod of a rollout is ready, too.
	deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas = 3, 3, 3
	require.NoError(t, c.Status().Update(t.Context(), deployment))
	ensuretest.Converge(t, c, pass)
	require.Equal(t, int32(2), *reread(t, c, app).Status.Replicas)

	deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas = 2, 2, 2
	require.NoError(t, c.Status().Update(t.Context(), deployment))
	ensuretest.Converge(t, c, pass)
	requireStatus(t, c, app, pods, "True Available", `Deployment "dp-words": 2 of 2 pods are available`)
	require.Equal(t, "app.kubernetes.io/component=web,app.kubernetes.io/instance=words,app.kubernetes.io/name=reversewordsapp",
		reread(t, c, app).Status.Selector)
}

// TestProblems reports errors that concern both children, or only the Service.
func TestProblems(t *testing.T) {
	c, app, pass := newPass(t)
	require.NoError(t, c.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "service-words"}}))
	ensuretest.Converge(t, c, pass)
	deployment := &appsv1.Deployment{}
	require.NoError(t, c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "dp-words"}, deployment))
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
	}
	require.NoError(t, c.Status().Update(t.Context(), deployment))
	ensuretest.Converge(t, c, pass)
	live := reread(t, c, app)
	require.Equal(t, []string{"False Available", "False Foreign"}, conditionsOf(live))
	require.Equal(t, []v1alpha1.Child{{Kind: "Deployment", Name: "dp-words", UID: deployment.UID}}, live.Status.Children)

	deployment.Finalizers = []string{"example.org/hold"}
	require.NoError(t, c.Update(t.Context(), deployment))
	require.NoError(t, c.Delete(t.Context(), app))
	ensuretest.Converge(t, c, pass)
	requireStatus(t, c, app, nil, "False Terminating", `still there: Deployment "dp-words" and its pods`)
}

// requireStatus requires these pods, this condition Ready, and the opposite status in the other condition.
func requireStatus(t *testing.T, c client.Client, app *v1alpha1.ReverseWordsApp, pods []string, ready, message string) {
	t.Helper()
	live := reread(t, c, app)
	status, reason, _ := strings.Cut(ready, " ")
	opposite := map[string]string{"True": "False", "False": "True"}[status]
	require.Equal(t, []string{opposite + " " + reason, ready}, conditionsOf(live))
	for _, condition := range live.Status.Conditions {
		require.Equal(t, message, condition.Message)
	}
	require.Empty(t, cmp.Diff(append([]string{}, pods...), live.Status.AppPods), "never nil")
}

func conditionsOf(app *v1alpha1.ReverseWordsApp) (conditions []string) {
	for _, condition := range app.Status.Conditions {
		conditions = append(conditions, string(condition.Status)+" "+condition.Reason)
	}
	return conditions
}

func reread(t *testing.T, c client.Client, app *v1alpha1.ReverseWordsApp) *v1alpha1.ReverseWordsApp {
	t.Helper()
	live := &v1alpha1.ReverseWordsApp{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(app), live))
	return live
}

func controlled(name string, labels map[string]string, owner client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "Any", Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true),
		}},
	}
}

// createPod creates a pending pod whose container waits for the reason.
func createPod(t *testing.T, c client.Client, meta metav1.ObjectMeta, reason string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: meta}
	require.NoError(t, c.Create(t.Context(), pod))
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "reversewords", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	}}}
	require.NoError(t, c.Status().Update(t.Context(), pod))
}
