package storage_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
)

const (
	// limit is how long a test waits for anything.
	limit = time.Minute
	// tick is the time between two looks.
	tick = 20 * time.Millisecond
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // or it complains that there is none
	os.Exit(longform.Main(func() int { return cluster.Main(m, &shared, cluster.WithStorage()) }))
}

// fixture is a namespace for claims and pods.
type fixture struct {
	client.WithWatch

	t         *testing.T
	ctx       context.Context
	namespace string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, shared)
}

func newFixtureOn(t *testing.T, on *cluster.Cluster) *fixture {
	t.Helper()
	c, err := client.NewWithWatch(on.Config(), client.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*limit, fmt.Errorf("not seen within %s", 3*limit))
	t.Cleanup(cancel)
	return &fixture{WithWatch: c, t: t, ctx: ctx, namespace: on.Namespace(t)}
}

// claim creates a claim of 2Gi, of the default class if class is nil.
func (f *fixture) claim(name string, class *string) *corev1.PersistentVolumeClaim {
	f.t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: class,
			Resources:        corev1.VolumeResourceRequirements{Requests: size("2Gi")},
		},
	}
	require.NoError(f.t, f.Create(f.ctx, claim))
	return claim
}

func size(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(quantity)}
}

// bound creates a claim of the default class and waits until the claim is bound.
func (f *fixture) bound(name string) *corev1.PersistentVolumeClaim {
	f.t.Helper()
	claim := f.claim(name, nil)
	f.await(claim, func() bool { return claim.Status.Phase == corev1.ClaimBound })
	return claim
}

// mounted creates the claim data, which a running pod of the same name mounts.
func (f *fixture) mounted() *corev1.PersistentVolumeClaim {
	f.t.Helper()
	claim := f.bound("data")
	f.startPod("data")
	return claim
}

// startPod starts a pod that mounts the claim of the same name, and waits until the pod runs.
func (f *fixture) startPod(name string) {
	f.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: "example.org/main:1",
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}}},
		},
	}
	require.NoError(f.t, f.Create(f.ctx, pod))
	f.await(pod, func() bool { return pod.Status.Phase == corev1.PodRunning })
}

// stopPod deletes the pod and waits until the pod is gone.
func (f *fixture) stopPod(name string) {
	f.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	require.NoError(f.t, f.Delete(f.ctx, pod))
	f.awaitGone(pod)
}

// await reads the object until the condition holds.
func (f *fixture) await(object client.Object, condition func() bool) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		return f.Get(f.ctx, client.ObjectKeyFromObject(object), object) == nil && condition()
	}, limit, tick, "%T %s", object, object.GetName())
}

func (f *fixture) awaitGone(object client.Object) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		return apierrors.IsNotFound(f.Get(f.ctx, client.ObjectKeyFromObject(object), object))
	}, limit, tick, "%T %s", object, object.GetName())
}

// request asks for another size of the claim.
func (f *fixture) request(claim *corev1.PersistentVolumeClaim, quantity string) error {
	patch := fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, quantity)
	return f.Patch(f.ctx, claim.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// renotify is how often a claim that does not change is written again. After a failure, the resizer puts its own copy of
// the claim into its cache. A request in that moment is lost until the next event about the claim.
const renotify = 10 * time.Second

// recording are the states that a claim goes through.
type recording struct {
	fixture *fixture
	claim   *corev1.PersistentVolumeClaim
	events  watch.Interface
	states  []string
	last    *corev1.PersistentVolumeClaim
}

// grow requests another size of the claim, and records all following states.
func (f *fixture) grow(claim *corev1.PersistentVolumeClaim, quantity string) *recording {
	f.t.Helper()
	require.NoError(f.t, f.Get(f.ctx, client.ObjectKeyFromObject(claim), claim))
	events, err := f.Watch(f.ctx, &corev1.PersistentVolumeClaimList{}, &client.ListOptions{
		Namespace: f.namespace,
		Raw: &metav1.ListOptions{
			FieldSelector:   "metadata.name=" + claim.Name,
			ResourceVersion: claim.ResourceVersion,
		},
	})
	require.NoError(f.t, err)
	f.t.Cleanup(events.Stop)
	require.NoError(f.t, f.request(claim, quantity))
	return &recording{fixture: f, claim: claim, events: events}
}

// until returns the states up to this one, each once in a row.
func (r *recording) until(state string) []string {
	r.fixture.t.Helper()
	if len(r.states) > 0 && r.states[len(r.states)-1] == state {
		return r.states
	}
	ticker := time.NewTicker(renotify)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.org/renotified":%q}}}`, now)
			require.NoError(r.fixture.t, r.fixture.Patch(r.fixture.ctx, r.claim.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))))
		case <-r.fixture.ctx.Done():
			require.FailNow(r.fixture.t, "the claim did not get there", "%s: %s, but %s",
				context.Cause(r.fixture.ctx), state, strings.Join(r.states, "\n"))
		case event, open := <-r.events.ResultChan():
			require.True(r.fixture.t, open, "the watch ended")
			r.last = event.Object.(*corev1.PersistentVolumeClaim)
			if seen := stateOf(r.last); len(r.states) == 0 || r.states[len(r.states)-1] != seen {
				r.states = append(r.states, seen)
			}
			if r.states[len(r.states)-1] == state {
				return r.states
			}
		}
	}
}

// stateOf returns capacity/allocated, the status of the allocated resources, and the true
// conditions.
func stateOf(claim *corev1.PersistentVolumeClaim) string {
	var conditions []string
	for _, condition := range claim.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			conditions = append(conditions, string(condition.Type))
		}
	}
	slices.Sort(conditions)
	return strings.TrimSpace(fmt.Sprintf("%s/%s %s %s",
		claim.Status.Capacity.Storage(), claim.Status.AllocatedResources.Storage(),
		claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage], strings.Join(conditions, "+")))
}

// TestStorageCanBeAddedLater: to a cluster that was started without.
func TestStorageCanBeAddedLater(t *testing.T) {
	t.Parallel()
	c, err := cluster.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	require.ErrorContains(t, c.Restart(t.Context(), cluster.StorageDriver), `there is no component "csi-driver"`)

	require.NoError(t, c.AddStorage(t.Context()))
	f := newFixtureOn(t, c)
	f.bound("data")
	require.NoError(t, c.Restart(t.Context(), cluster.StorageDriver))
	f.bound("more")
}
