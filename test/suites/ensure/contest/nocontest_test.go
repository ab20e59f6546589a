package contest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// requireNoContest requires that the operator never got a contest error and has nothing left to do.
func requireNoContest(t *testing.T, o *operator) {
	t.Helper()
	_, contested, last := o.outcome()
	require.Zero(t, contested)
	require.NoError(t, last)
}

// TestNoContestWithARollout: a status that moves all the time while desired changes.
func TestNoContestWithARollout(t *testing.T) {
	namespace := shared.Namespace(t)
	o := startOperator(t, "rollout-operator-"+namespace, web(namespace, new(int32(3))))
	c := program.Client(t, shared, "reader")
	since := shared.Mark()
	for i := range 10 {
		image := fmt.Sprintf("example.com/web:%d", i+2)
		o.changeDesired(func(desired client.Object) {
			desired.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = image
		})
		require.Eventually(t, func() bool {
			live := web(namespace, nil)
			err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live)
			return err == nil && live.Spec.Template.Spec.Containers[0].Image == image
		}, limit, tick)
	}
	require.Eventually(t, func() bool {
		live := web(namespace, nil)
		err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live)
		return err == nil && live.Status.ObservedGeneration == live.Generation &&
			live.Status.UpdatedReplicas == 3 && live.Status.AvailableReplicas == 3 && live.Status.Replicas == 3
	}, limit, tick)
	o.awaitPasses(3)
	requireNoContest(t, o)
	passes, _, _ := o.outcome()
	t.Logf("%d writes for 10 changes of desired, in %d passes", o.writes(since), passes)
}

// TestNoContestWithAnAutoscaler: replicas are left out, and somebody scales all the time.
func TestNoContestWithAnAutoscaler(t *testing.T) {
	namespace := shared.Namespace(t)
	o := startOperator(t, "scaled-operator-"+namespace, web(namespace, nil))
	o.awaitSuccess()
	c := program.Client(t, shared, "autoscaler")
	since := shared.Mark()
	for i := range 30 {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: int32(1 + i%4)}}
		require.NoError(t, c.SubResource("scale").Update(t.Context(), web(namespace, nil), client.WithSubResourceBody(scale)))
		o.awaitPasses(2)
	}
	requireNoContest(t, o)
	t.Logf("%d questions about 30 changes of replicas", o.writes(since))
}

// TestNoContestWithAWebhook has a slow webhook that changes our requests.
func TestNoContestWithAWebhook(t *testing.T) {
	namespace := shared.Namespace(t)
	stop, err := shared.MutatingWebhook(t.Context(), "paint", []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}, admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		return paintSlowly(ctx, request, namespace)
	}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	o := startOperator(t, "admitted-operator-"+namespace, settings(namespace))
	o.awaitSuccess()
	c := program.Client(t, shared, "stranger")
	since := shared.Mark()
	for i := range 10 {
		require.NoError(t, merge(t.Context(), c, settings(namespace), `{"data":{"theirs":"`+strconv.Itoa(i)+`"}}`))
		o.awaitPasses(3)
	}
	live := settings(namespace)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(live), live))
	require.Equal(t, "admitted", live.Data["color"])
	requireNoContest(t, o)
	t.Logf("%d questions about 10 changes of others", o.writes(since))
}

// paintSlowly answers like a webhook that is far away.
func paintSlowly(ctx context.Context, request admission.Request, namespace string) admission.Response {
	settings := &corev1.ConfigMap{}
	if err := json.Unmarshal(request.Object.Raw, settings); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if request.Namespace != namespace || settings.Name != "settings" {
		return admission.Allowed("")
	}
	slow := time.NewTimer(50 * time.Millisecond)
	defer slow.Stop()
	select {
	case <-slow.C:
	case <-ctx.Done():
		return admission.Errored(http.StatusRequestTimeout, ctx.Err())
	}
	settings.Data["color"] = "admitted"
	after, err := json.Marshal(settings)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, after)
}

// A laggingCache is a cache whose reads return the state of some reads ago.
type laggingCache struct {
	mu   sync.Mutex
	seen []*corev1.ConfigMap
}

const laggedReads = 3

func (l *laggingCache) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	shown, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return errors.New("it reads settings only")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := c.Get(ctx, key, shown); err != nil {
		return err
	}
	l.seen = append(l.seen, shown.DeepCopy())
	l.seen[max(0, len(l.seen)-1-laggedReads)].DeepCopyInto(shown)
	return nil
}

// TestNoContestWithALaggingCache: a user reverts one field, once, and the cache shows the
// reverted value long after the repair, while desired changes all the time.
func TestNoContestWithALaggingCache(t *testing.T) {
	namespace := shared.Namespace(t)
	scheme, err := program.Scheme()
	require.NoError(t, err)
	name := "lagging-operator-" + namespace
	c, err := client.NewWithWatch(program.Config(shared, name), client.Options{Scheme: scheme})
	require.NoError(t, err)
	behind := &laggingCache{}
	e := ensure.New(interceptor.NewClient(c, interceptor.Funcs{Get: behind.get}), c, fieldOwner)
	stranger := program.Client(t, shared, "stranger")
	since := shared.Mark()
	for round := range 6 {
		desired := settings(namespace)
		desired.Data["shape"] = strconv.Itoa(round)
		for pass := range 10 {
			_, err := ensure.Object(t.Context(), e, desired)
			require.NoError(t, err)
			if pass == 5 {
				require.NoError(t, merge(t.Context(), stranger, settings(namespace), `{"data":{"color":"red"}}`))
			}
		}
	}
	writes, err := shared.Requests(since, cluster.ByUserAgent(name), cluster.Writes)
	require.NoError(t, err)
	require.LessOrEqual(t, len(writes), 6*2+1, "one for each change of desired and one for each undoing")
	t.Logf("%d writes for 6 states of desired, each undone once, with a cache %d passes behind", len(writes), laggedReads)
}
