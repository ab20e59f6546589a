package ensure_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status/readiness"
)

func TestReadiness(t *testing.T) {
	down := errors.New("out of reach")
	waits := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}}}
	available := &appsv1.Deployment{Status: appsv1.DeploymentStatus{
		ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
	}}
	started := &appsv1.Deployment{Status: appsv1.DeploymentStatus{ObservedGeneration: 1}}
	for _, test := range []struct {
		name   string
		result ensure.Result[*appsv1.Deployment]
		err    error
		pods   []corev1.Pod
		want   readiness.Readiness
	}{
		{
			name: "not ensured", err: down, pods: []corev1.Pod{waits},
			want: readiness.Readiness{State: readiness.InProgress, Reason: "Unavailable", Message: "out of reach"},
		},
		{
			name: "not ensured, and no error",
			want: readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "there is no object"},
		},
		{
			name:   "stale",
			result: ensure.Result[*appsv1.Deployment]{Operation: ensure.Unchanged, Live: available, Stale: true},
			want:   readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "the cache does not show the last write yet"},
		},
		{
			name:   "ready, and another child failed",
			result: ensure.Result[*appsv1.Deployment]{Operation: ensure.Unchanged, Live: available}, err: down,
			want: readiness.Readiness{State: readiness.Ready, Reason: "Ready", Message: "1 of 1 pods are available"},
		},
		{
			name:   "not ready",
			result: ensure.Result[*appsv1.Deployment]{Operation: ensure.Created, Live: started},
			want:   readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "0 of 1 pods are created"},
		},
		{
			name:   "not ready because of a pod",
			result: ensure.Result[*appsv1.Deployment]{Operation: ensure.Created, Live: started}, pods: []corev1.Pod{waits},
			want: readiness.Readiness{State: readiness.InProgress, Reason: "ImagePullBackOff", Message: `pod "web-0": container web waits: ImagePullBackOff`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(test.want, test.result.Readiness(test.err, test.pods...)))
			untyped := ensure.Result[client.Object]{Operation: test.result.Operation, Stale: test.result.Stale}
			if test.result.Live != nil {
				untyped.Live = test.result.Live
			}
			require.Empty(t, cmp.Diff(test.want, untyped.Readiness(test.err, test.pods...)))
		})
	}
}

func TestReadinessOfASet(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	balanced := with(service(), func(o *corev1.Service) { o.Spec.Type = corev1.ServiceTypeLoadBalancer })
	absent := called("absent")
	readinessOf := func(children ...client.Object) readiness.Readiness {
		opts := []ensure.Option{}
		if slices.Contains(children, client.Object(absent)) {
			opts = append(opts, ensure.OnlyFor(absent, ensure.IfExists()))
		}
		results, err := ensure.Set(t.Context(), e, shop(), children, opts...)
		return results.Readiness(err)
	}
	ready := readiness.Readiness{State: readiness.Ready, Reason: "Ready", Message: "all children are ready"}

	require.Equal(t, ready, readinessOf())
	require.Equal(t, ready, readinessOf(configMap(), absent))

	waiting := readinessOf(configMap(), balanced)
	require.Equal(t, readiness.InProgress, waiting.State)
	require.Regexp(t, `^Service "web": .`, waiting.Message)
	s.edit(t, balanced, `{"spec":{"clusterIP":"10.0.0.1"},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`)
	require.Equal(t, ready, readinessOf(configMap(), balanced))

	failed := readinessOf(balanced, with(called("other"), func(o *corev1.ConfigMap) { o.Namespace = "elsewhere" }))
	require.Equal(t, readiness.InProgress, failed.State)
	require.Equal(t, "Refused", failed.Reason)
	require.Contains(t, failed.Message, "elsewhere")

	unfinished := ensure.Results{Children: make([]ensure.Result[client.Object], 1)} // and the error was dropped
	require.Equal(t, readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "there is no object"}, unfinished.Readiness(nil))
}
