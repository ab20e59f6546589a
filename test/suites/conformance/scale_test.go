package conformance_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

const (
	keepsScale  = "replicas left out stay as scaled"
	resetsScale = "scaled by hand is put back"
)

// scalable are the kinds with a scale subresource.
func scalable() []subject {
	return []subject{scaled(deployment()), scaled(statefulSet()), scaled(replicaSet()), scaled(replicationController()), fleet()}
}

// scaled is s without pods: nobody can schedule them, and nothing waits for them.
func scaled(s subject) subject {
	s = idle(s)
	desired := s.desired
	s.desired = func() client.Object {
		obj := desired()
		podTemplateOf(obj).Spec.SchedulerName = "nobody"
		setReplicas(obj, new(int32(0)))
		return obj
	}
	return s
}

// setReplicas leaves them out if n is nil.
func setReplicas(obj client.Object, n *int32) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = n
	case *appsv1.StatefulSet:
		o.Spec.Replicas = n
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = n
	case *corev1.ReplicationController:
		o.Spec.Replicas = n
	case *unstructured.Unstructured:
		unstructured.RemoveNestedField(o.Object, "spec", "replicas")
		if n != nil {
			set(o, int64(*n), "spec", "replicas")
		}
	}
}

func replicasOf(obj client.Object) int32 {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return *o.Spec.Replicas
	case *appsv1.StatefulSet:
		return *o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return *o.Spec.Replicas
	case *corev1.ReplicationController:
		return *o.Spec.Replicas
	case *unstructured.Unstructured:
		n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		return int32(n)
	}
	return -1
}

// leftOut returns s without replicas, which other programs then set.
func leftOut(s subject) subject {
	desired := s.desired
	s.desired = func() client.Object {
		obj := desired()
		setReplicas(obj, nil)
		return obj
	}
	return s
}

// scale scales as kubectl scale and autoscalers do.
func (b *bench) scale(n int32) {
	b.t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
	err := b.human.SubResource("scale").Update(b.ctx, b.empty(), client.WithSubResourceBody(scale), client.FieldOwner("kubectl-scale"))
	require.NoError(b.t, err)
	live := b.live()
	require.Equal(b.t, n, replicasOf(live))
	b.awaitCached(live)
	if b.settled != nil {
		b.await("the controllers", func() bool { return b.settled(b.live()) })
		b.awaitCached(b.live())
	}
}

// TestAutoscaled: replicas that desired does not specify keep the value set through the
// subresource, at the cost of one request that writes nothing.
func TestAutoscaled(t *testing.T) {
	t.Parallel()
	haveFleets(t)
	benches(t, scalable(), everyMode, func(b *bench) {
		b.subject = leftOut(b.subject)
		b.createIsOneRequest()
		for _, n := range []int32{2, 0, 3} {
			b.scale(n)
			b.leavesReplicas(n)
		}
		b.scale(2)
		for range 2 {
			b.restart()
			b.leavesReplicas(2)
		}

		b.droppedIsGone()
		require.Equal(b.t, int32(2), replicasOf(b.live()), "after a change of desired")
		b.shows(keepsScale)
	})
}

func (b *bench) leavesReplicas(n int32) {
	b.t.Helper()
	before := b.live()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Unchanged, "", n)
	b.requireAtMostOne(requests, n)
	b.requireFiveFreePasses("after scaling")
	require.Equal(b.t, n, replicasOf(b.live()))
	b.requireSame(before, b.live(), n)
}

// TestScaledByHand: replicas that desired names are put back, also by a process that
// was not there when they were scaled. The server notes who scaled a field of ours
// without a time, and for custom kinds not at all.
func TestScaledByHand(t *testing.T) {
	t.Parallel()
	haveFleets(t)
	benches(t, scalable(), everyMode, func(b *bench) {
		b.createIsOneRequest()
		wanted := replicasOf(b.live())
		for _, restarts := range []bool{false, true, true, false} {
			before := b.live()
			b.scale(wanted + 3)
			if restarts {
				b.restart()
			}
			res, requests := b.pass()
			b.requireOperation(res, ensure.Updated, ensure.Drifted)
			b.requireWrites(requests, 1)
			require.Contains(b.t, res.Changes, ensure.Change{Path: "spec.replicas", Old: text(wanted + 3), New: text(wanted)})
			b.requireSame(before, b.live())
			b.requireFiveFreePasses("after scaling")
		}
		b.scale(wanted + 3)
		b.scale(wanted)
		b.restartWritesNothing()
		b.shows(resetsScale)
	})
}

// TestAutoscaler: a HorizontalPodAutoscaler scales up and down beside an operator that
// leaves replicas out.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	workloads := []subject{scaled(deployment()), scaled(statefulSet()), scaled(replicaSet()), scaled(replicationController())}
	benches(t, workloads, everyMode, func(b *bench) {
		b.subject = leftOut(b.subject)
		b.createIsOneRequest()
		scaler := autoscaler().desired().(*autoscalingv2.HorizontalPodAutoscaler)
		scaler.Namespace = b.home
		gvk := b.empty().GetObjectKind().GroupVersionKind()
		scaler.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: b.desired().GetName(),
		}
		for _, n := range []int32{3, 2, 4} {
			b.autoscale(scaler, n)
			b.leavesReplicas(n)
		}
		b.restart()
		b.leavesReplicas(4)
		b.droppedIsGone()
		require.Equal(b.t, int32(4), replicasOf(b.live()))
		b.shows(keepsScale)
	})
}

// autoscale has n be the least and the most, to which an autoscaler goes without
// metrics.
func (b *bench) autoscale(scaler *autoscalingv2.HorizontalPodAutoscaler, n int32) {
	b.t.Helper()
	scaler.Spec.MinReplicas, scaler.Spec.MaxReplicas = &n, n
	if scaler.UID == "" {
		require.NoError(b.t, b.human.Create(b.ctx, scaler))
	} else {
		patch := fmt.Sprintf(`{"spec":{"minReplicas":%d,"maxReplicas":%d}}`, n, n)
		require.NoError(b.t, b.human.Patch(b.ctx, scaler, client.RawPatch(types.MergePatchType, []byte(patch))))
	}
	b.await("the autoscaler", func() bool { return replicasOf(b.live()) == n && b.settled(b.live()) })
	b.awaitCached(b.live())
}
