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
func scalable() []kindCase {
	return []kindCase{scaled(deployment()), scaled(statefulSet()), scaled(replicaSet()), scaled(replicationController()), fleet()}
}

// scaled is s without pods: nobody can schedule them, and nothing waits for them.
func scaled(k kindCase) kindCase {
	k = idle(k)
	desired := k.desired
	k.desired = func() client.Object {
		obj := desired()
		podTemplateOf(obj).Spec.SchedulerName = "nobody"
		setReplicas(obj, new(int32(0)))
		return obj
	}
	return k
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
func leftOut(k kindCase) kindCase {
	desired := k.desired
	k.desired = func() client.Object {
		obj := desired()
		setReplicas(obj, nil)
		return obj
	}
	return k
}

// scale scales as kubectl scale and autoscalers do.
func (f *fixture) scale(n int32) {
	f.t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
	err := f.admin.SubResource("scale").Update(f.ctx, f.empty(), client.WithSubResourceBody(scale), client.FieldOwner("kubectl-scale"))
	require.NoError(f.t, err)
	live := f.live()
	require.Equal(f.t, n, replicasOf(live))
	f.awaitCached(live)
	if f.settled != nil {
		f.await("the controllers", func() bool { return f.settled(f.live()) })
		f.awaitCached(f.live())
	}
}

// TestAutoscaled: replicas that desired does not specify keep the value set through the
// subresource, at the cost of one request that writes nothing.
func TestAutoscaled(t *testing.T) {
	t.Parallel()
	haveFleets(t)
	forEachFixture(t, scalable(), everyMode, func(f *fixture) {
		f.kindCase = leftOut(f.kindCase)
		f.createIsOneRequest()
		for _, n := range []int32{2, 0, 3} {
			f.scale(n)
			f.leavesReplicas(n)
		}
		f.scale(2)
		for range 2 {
			f.restart()
			f.leavesReplicas(2)
		}

		f.droppedIsGone()
		require.Equal(f.t, int32(2), replicasOf(f.live()), "after a change of desired")
		f.noteShown(keepsScale)
	})
}

func (f *fixture) leavesReplicas(n int32) {
	f.t.Helper()
	before := f.live()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Unchanged, "", n)
	f.requireAtMostOne(requests, n)
	f.requireFiveFreePasses("after scaling")
	require.Equal(f.t, n, replicasOf(f.live()))
	f.requireSame(before, f.live(), n)
}

// TestScaledByHand: replicas that desired names are put back, also by a process that
// was not there when they were scaled. The server notes who scaled a field of ours
// without a time, and for custom kinds not at all.
func TestScaledByHand(t *testing.T) {
	t.Parallel()
	haveFleets(t)
	forEachFixture(t, scalable(), everyMode, func(f *fixture) {
		f.createIsOneRequest()
		wanted := replicasOf(f.live())
		for _, restarts := range []bool{false, true, true, false} {
			before := f.live()
			f.scale(wanted + 3)
			if restarts {
				f.restart()
			}
			res, requests := f.pass()
			f.requireOperation(res, ensure.Updated, ensure.Drifted)
			f.requireWrites(requests, 1)
			require.Contains(f.t, res.Changes, ensure.Change{Path: "spec.replicas", Old: text(wanted + 3), New: text(wanted)})
			f.requireSame(before, f.live())
			f.requireFiveFreePasses("after scaling")
		}
		f.scale(wanted + 3)
		f.scale(wanted)
		f.restartWritesNothing()
		f.noteShown(resetsScale)
	})
}

// TestAutoscaler: a HorizontalPodAutoscaler scales up and down beside an operator that
// leaves replicas out.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	workloads := []kindCase{scaled(deployment()), scaled(statefulSet()), scaled(replicaSet()), scaled(replicationController())}
	forEachFixture(t, workloads, everyMode, func(f *fixture) {
		f.kindCase = leftOut(f.kindCase)
		f.createIsOneRequest()
		scaler := autoscaler().desired().(*autoscalingv2.HorizontalPodAutoscaler)
		scaler.Namespace = f.childNamespace
		gvk := f.empty().GetObjectKind().GroupVersionKind()
		scaler.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: f.desired().GetName(),
		}
		for _, n := range []int32{3, 2, 4} {
			f.autoscale(scaler, n)
			f.leavesReplicas(n)
		}
		f.restart()
		f.leavesReplicas(4)
		f.droppedIsGone()
		require.Equal(f.t, int32(4), replicasOf(f.live()))
		f.noteShown(keepsScale)
	})
}

// autoscale has n be the least and the most, to which an autoscaler goes without
// metrics.
func (f *fixture) autoscale(scaler *autoscalingv2.HorizontalPodAutoscaler, n int32) {
	f.t.Helper()
	scaler.Spec.MinReplicas, scaler.Spec.MaxReplicas = &n, n
	if scaler.UID == "" {
		require.NoError(f.t, f.admin.Create(f.ctx, scaler))
	} else {
		patch := fmt.Sprintf(`{"spec":{"minReplicas":%d,"maxReplicas":%d}}`, n, n)
		require.NoError(f.t, f.admin.Patch(f.ctx, scaler, client.RawPatch(types.MergePatchType, []byte(patch))))
	}
	f.await("the autoscaler", func() bool { return replicasOf(f.live()) == n && f.settled(f.live()) })
	f.awaitCached(f.live())
}
