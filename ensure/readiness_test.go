package ensure_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status/readiness"
)

func TestReadiness(t *testing.T) {
	down := errors.New("out of reach")
	available := daemonSet(appsv1.DaemonSetStatus{
		CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberReady: 1, NumberAvailable: 1,
	})
	started := daemonSet(appsv1.DaemonSetStatus{})
	waits := `pod "web-0": container web waits: ImagePullBackOff`
	for _, test := range []struct {
		name      string
		result    ensure.Result[*appsv1.DaemonSet]
		err       error
		want      readiness.Readiness
		explained readiness.Readiness
	}{
		{
			name: "not ensured", err: down,
			want: readiness.Readiness{State: readiness.InProgress, Reason: "Unavailable", Message: "out of reach"},
		},
		{
			name: "not ensured, and no error",
			want: readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "there is no object"},
		},
		{
			name:   "stale",
			result: ensure.Result[*appsv1.DaemonSet]{Operation: ensure.Unchanged, Live: available, Stale: true},
			want:   readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "the cache does not show the last write yet"},
		},
		{
			name:   "ready, and another child failed",
			result: ensure.Result[*appsv1.DaemonSet]{Operation: ensure.Unchanged, Live: available}, err: down,
			want: readiness.Readiness{State: readiness.Ready, Reason: "Ready", Message: "1 of 1 pods are available"},
		},
		{
			name:      "not ready",
			result:    ensure.Result[*appsv1.DaemonSet]{Operation: ensure.Created, Live: started},
			want:      readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "0 of 1 pods are created"},
			explained: readiness.Readiness{State: readiness.InProgress, Reason: "ImagePullBackOff", Message: waits},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			untyped := ensure.Result[client.Object]{Operation: test.result.Operation, Stale: test.result.Stale}
			if test.result.Live != nil {
				untyped.Live = test.result.Live
			}
			require.Empty(t, cmp.Diff(test.want, test.result.Readiness(test.err)))
			require.Empty(t, cmp.Diff(test.want, untyped.Readiness(test.err)))

			if test.explained.State == "" {
				test.explained = test.want
			}
			reader := fake.NewFakeClient(waitingPod())
			explained, err := test.result.Explain(t.Context(), reader, test.err)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(test.explained, explained))
			explained, err = untyped.Explain(t.Context(), reader, test.err)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(test.explained, explained))
		})
	}
}

func daemonSet(status appsv1.DaemonSetStatus) *appsv1.DaemonSet {
	status.ObservedGeneration, status.DesiredNumberScheduled = 1, 1
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}},
		Status:     status,
	}
}

// waitingPod returns the pod of the DaemonSet, whose image is missing.
func waitingPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web-0", Labels: map[string]string{"app": "shop"},
			OwnerReferences: []metav1.OwnerReference{{UID: "web", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		}}},
	}
}

func TestReadinessOfASet(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	balanced := with(service(), func(o *corev1.Service) { o.Spec.Type = corev1.ServiceTypeLoadBalancer })
	absent := called("absent")
	readinessOf := func(children ...client.Object) readiness.Readiness {
		opts := []ensure.SetOption{}
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

// TestExplainPartOfASet has a child that is ready, one that is not, and one that failed.
func TestExplainPartOfASet(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	web, balanced := configMap(), with(service(), func(o *corev1.Service) { o.Spec.Type = corev1.ServiceTypeLoadBalancer })
	late := called("late")
	s.answers = []error{nil, nil, errors.New("out of reach")}
	results, err := ensure.Set(t.Context(), e, shop(), []client.Object{web, balanced, late})
	require.Error(t, err)
	explain := func(err error, children ...client.Object) readiness.Readiness {
		found, explainErr := results.Explain(t.Context(), s, err, children...)
		require.NoError(t, explainErr)
		return found
	}
	ready := readiness.Readiness{State: readiness.Ready, Reason: "Ready", Message: "all children are ready"}
	failed := readiness.Readiness{State: readiness.InProgress, Reason: ensure.Reason(err), Message: err.Error()}
	require.Equal(t, ready, explain(err, web))
	require.Regexp(t, `^Service "web": .`, explain(err, balanced).Message)
	require.Regexp(t, `^Service "web": .`, explain(err, web, balanced, late).Message, "the first one counts")
	require.Equal(t, failed, explain(err, web, late))
	require.Equal(t, failed, explain(err))
	nothing := readiness.Readiness{State: readiness.InProgress, Reason: "InProgress", Message: "there is no object"}
	require.Equal(t, nothing, explain(nil, web, called("other")), "is no child")
}

// TestReadinessOfASetThatContinued tells of each child its own error.
func TestReadinessOfASetThatContinued(t *testing.T) {
	s := newServer()
	s.answers = []error{status(422, metav1.StatusReasonInvalid), nil, status(403, metav1.StatusReasonForbidden)}
	front, settings, web, more := service(), configMap(), called("broken"), called("more")
	results, err := ensure.Set(t.Context(), newEnsurer(s), shop(), []client.Object{front, settings, web, more}, ensure.ContinueOnError())
	require.Error(t, err)
	explain := func(children ...client.Object) readiness.Readiness {
		found, explainErr := results.Explain(t.Context(), s, err, children...)
		require.NoError(t, explainErr)
		return found
	}
	require.Equal(t, readiness.Ready, explain(settings, more).State)
	require.Equal(t, "Invalid", explain(front).Reason)
	forbidden := explain(settings, web)
	require.Equal(t, readiness.InProgress, forbidden.State)
	require.Equal(t, "Forbidden", forbidden.Reason)
	require.Regexp(t, `^cannot create ConfigMap "default/broken": Forbidden`, forbidden.Message)
	require.NotContains(t, forbidden.Message, "Service")
	require.Equal(t, readiness.Readiness{State: readiness.InProgress, Reason: "Invalid", Message: err.Error()}, results.Readiness(err))
	require.Equal(t, "Invalid", results.Readiness(nil).Reason, "the error was dropped")
	require.Equal(t, readiness.Ready, ensure.ResultOf(results, settings).Readiness(err).State)
}

// TestExplainFails returns the error of the list, and the readiness without an explanation.
func TestExplainFails(t *testing.T) {
	down := errors.New("out of reach")
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "db"},
		Status:     appsv1.StatefulSetStatus{ObservedGeneration: 1},
	}
	reader := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return down },
	})
	result := ensure.Result[*appsv1.StatefulSet]{Operation: ensure.Unchanged, Live: set}
	found, err := result.Explain(t.Context(), reader, nil)
	require.ErrorIs(t, err, down)
	require.Equal(t, result.Readiness(nil), found)
	results := ensure.Results{Children: []ensure.Result[client.Object]{{Operation: ensure.Unchanged, Live: set}}}
	found, err = results.Explain(t.Context(), reader, nil)
	require.ErrorIs(t, err, down)
	require.Equal(t, result.Readiness(nil), found)
}
