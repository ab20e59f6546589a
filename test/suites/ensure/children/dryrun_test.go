package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A trial is something to be done, first dry.
type trial struct {
	// live is the object before the call, if any; edit returns the object as a person changed it.
	live    client.Object
	edit    func(client.Object)
	desired client.Object
	want    ensure.Operation
	cause   ensure.Cause
	// dry are the requests of the dry run.
	dry map[string]int
}

// TestDryRun: a dry run stores nothing and reports the result that the same call without dry run
// has afterwards.
func TestDryRun(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(*workshop) trial{
		"create": func(w *workshop) trial {
			return trial{
				desired: w.config("config", "made"), want: ensure.Created, cause: ensure.Missing,
				dry: map[string]int{"patch configmaps (dry run)": 1},
			}
		},
		"update": func(w *workshop) trial {
			return trial{
				live: w.config("config", "made"), desired: w.config("config", "changed"),
				want: ensure.Updated, cause: ensure.DesiredChanged, dry: map[string]int{"patch configmaps (dry run)": 1},
			}
		},
		"put back": func(w *workshop) trial {
			return trial{
				live: w.config("config", "made"), desired: w.config("config", "made"),
				edit: func(obj client.Object) { obj.(*corev1.ConfigMap).Data["key"] = "edited" },
				want: ensure.Updated, cause: ensure.Drifted, dry: map[string]int{"patch configmaps (dry run)": 1},
			}
		},
		"repair": func(w *workshop) trial {
			return trial{
				live: w.service(0), desired: w.service(0),
				edit: func(obj client.Object) { obj.(*corev1.Service).Spec.Ports[0].Port = 81 },
				want: ensure.Updated, cause: ensure.Drifted,
				dry: map[string]int{"patch services (dry run)": 2, "get services": 1},
			}
		},
		"recreate": func(w *workshop) trial {
			return trial{
				live: w.frozen("config", "made"), desired: w.frozen("config", "changed"),
				want: ensure.Recreated, cause: ensure.DesiredChanged,
				dry: map[string]int{"patch configmaps (dry run)": 2, "get configmaps": 1, "create configmaps (dry run)": 1, "delete configmaps": 1},
			}
		},
		"recreate what is unstructured": func(w *workshop) trial {
			return trial{
				live: untyped(w.frozen("config", "made")), desired: untyped(w.frozen("config", "changed")),
				want: ensure.Recreated, cause: ensure.DesiredChanged,
				dry: map[string]int{"patch configmaps (dry run)": 2, "get configmaps": 1, "create configmaps (dry run)": 1, "delete configmaps": 1},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCachedWorkshop(t)
			w.tries(build(w))
		})
	}
}

func (w *workshop) tries(tr trial) {
	w.t.Helper()
	if tr.live != nil {
		w.mustBe(ensure.Created, tr.live)
		if tr.edit != nil {
			live := w.find(tr.live)
			tr.edit(live)
			require.NoError(w.t, w.human.Update(w.ctx, live))
		}
		w.awaitCached(tr.live)
	}
	before := w.find(tr.desired)
	var told ensure.Result[client.Object]
	for range 2 {
		mark := shared.Mark()
		told = w.mustBe(tr.want, tr.desired, anew, ensure.DryRun())
		require.Equal(w.t, tr.cause, told.Cause)
		require.Empty(w.t, cmp.Diff(tr.dry, w.counts(mark)))
		require.Empty(w.t, cmp.Diff(before, w.find(tr.desired)), "something was stored")
		w.requireNoWait()
	}
	done := w.mustBe(tr.want, tr.desired, anew)
	require.Equal(w.t, tr.cause, done.Cause)
	require.Empty(w.t, cmp.Diff(told.Changes, done.Changes))
	w.awaitCached(tr.desired)
	mark := shared.Mark()
	w.mustBe(ensure.Unchanged, tr.desired, ensure.DryRun())
	w.mustBe(ensure.Unchanged, tr.desired)
	require.Empty(w.t, w.counts(mark))
}

// requireNoWait checks that a client that reads its own writes does not wait for a write that is
// never stored.
func (w *workshop) requireNoWait() {
	w.t.Helper()
	require.NoError(w.t, w.client.List(w.ctx, &corev1.ConfigMapList{}, client.InNamespace(w.namespace)))
	require.NoError(w.t, w.client.List(w.ctx, &corev1.ServiceList{}, client.InNamespace(w.namespace)))
	untypedList := &unstructured.UnstructuredList{}
	untypedList.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	require.NoError(w.t, w.client.List(w.ctx, untypedList, client.InNamespace(w.namespace)))
}

// untyped is a ConfigMap without Go types.
func untyped(config *corev1.ConfigMap) *unstructured.Unstructured {
	data := map[string]any{}
	for key, value := range config.Data {
		data[key] = value
	}
	u := &unstructured.Unstructured{Object: map[string]any{"data": data}}
	if config.Immutable != nil {
		u.Object["immutable"] = *config.Immutable
	}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	u.SetName(config.Name)
	return u
}

// TestDryRunBetween: a dry run does not change the results of later passes.
func TestDryRunBetween(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	held := w.frozen("config", "made")
	held.Finalizers = []string{"example.com/held"}
	w.mustBe(ensure.Created, held)
	desired := w.frozen("config", "changed")
	_, err := w.object(desired, anew)
	require.ErrorIs(t, err, ensure.ErrTerminating)
	w.release(desired)
	w.mustBe(ensure.Created, desired, anew, ensure.DryRun())
	res := w.mustBe(ensure.Recreated, desired, anew)
	require.Contains(t, pathsOf(res.Changes), "data[key]")
}

// release removes the finalizers of an object that is being deleted and waits until the object is
// gone.
func (w *workshop) release(obj client.Object) {
	w.t.Helper()
	live := w.find(obj)
	require.NotNil(w.t, live.GetDeletionTimestamp())
	live.SetFinalizers(nil)
	require.NoError(w.t, w.human.Update(w.ctx, live))
	w.await("the object to be gone", func() bool {
		found := w.find(obj)
		return found == nil || found.GetUID() != live.GetUID()
	})
	w.awaitCached(obj)
}

// TestIfExists: a missing object is not created.
func TestIfExists(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	w.mustBe(ensure.Gone, w.config("config", "made"), ensure.IfExists()) // the cache's informer begins
	mark := shared.Mark()
	for range 5 {
		res := w.mustBe(ensure.Gone, w.config("config", "made"), ensure.IfExists())
		require.Nil(t, res.Live)
	}
	require.Empty(t, w.counts(mark))

	require.NoError(t, w.human.Create(w.ctx, w.config("config", "theirs")))
	w.awaitCached(w.config("config", ""))
	_, err := w.object(w.config("config", "made"), ensure.IfExists())
	require.ErrorIs(t, err, ensure.ErrForeign)
	mark = shared.Mark()
	res := w.mustBe(ensure.Updated, w.config("config", "made"), ensure.IfExists(), ensure.Adopt())
	require.Equal(t, ensure.Adopted, res.Cause)
	require.Empty(t, cmp.Diff(map[string]int{"patch configmaps": 1}, w.counts(mark)))

	require.NoError(t, w.human.Delete(w.ctx, w.config("config", "")))
	w.awaitCached(w.config("config", ""))
	w.mustBe(ensure.Gone, w.config("config", "made"), ensure.IfExists())
	require.Nil(t, w.find(w.config("config", "")))
}

// TestIfExistsThenNot: an object deleted between the read and the write is not created again.
func TestIfExistsThenNot(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.mustBe(ensure.Created, w.config("config", "made"))
	m := w.meddle()
	m.beforePatch = func() {
		m.beforePatch = nil
		require.NoError(t, w.human.Delete(w.ctx, w.config("config", "")))
	}
	mark := shared.Mark()
	res := w.mustBe(ensure.Gone, w.config("config", "changed"), ensure.IfExists())
	require.Nil(t, res.Live)
	require.Empty(t, cmp.Diff(map[string]int{"get configmaps": 2, "patch configmaps": 1}, w.counts(mark)))
	require.Nil(t, w.find(w.config("config", "")))
}

// TestIfExistsGrowsClaims: a StatefulSet makes its claims, and nobody controls them.
func TestIfExistsGrowsClaims(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	class := w.createExpandableClass()
	w.createVolumeFor("data-db-0", class)
	database := w.database("1Gi")
	database.Spec.Replicas, database.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new(int32(1)), &class
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: w.named("data-db-0")}
	claim.Labels = map[string]string{"grown": "yes"}
	claim.Spec.Resources.Requests = w.database("2Gi").Spec.VolumeClaimTemplates[0].Spec.Resources.Requests
	grow := func() (ensure.Result[*corev1.PersistentVolumeClaim], error) {
		return ensure.Object(w.ctx, w.ensurer, claim, ensure.IfExists(), ensure.Adopt())
	}
	found, err := grow()
	require.NoError(t, err)
	require.Equal(t, ensure.Gone, found.Operation)

	w.mustBe(ensure.Created, database)
	w.settled(claim, func(obj client.Object) bool {
		return obj.(*corev1.PersistentVolumeClaim).Status.Phase == corev1.ClaimBound
	})
	before := w.find(claim)
	found, err = grow()
	require.NoError(t, err)
	require.Equal(t, ensure.Updated, found.Operation)
	require.Equal(t, ensure.Adopted, found.Cause)
	require.Contains(t, pathsOf(found.Changes), "spec.resources.requests[storage]")
	after := w.find(claim).(*corev1.PersistentVolumeClaim)
	require.Equal(t, before.GetUID(), after.UID)
	require.Equal(t, "2Gi", after.Spec.Resources.Requests.Storage().String())
	require.Equal(t, map[string]string{"app": "db", "grown": "yes"}, after.Labels)
	require.Empty(t, cmp.Diff(before.GetOwnerReferences(), after.OwnerReferences))
	w.await("nothing left to ask", func() bool {
		mark := shared.Mark()
		found, err := grow()
		require.NoError(t, err)
		require.Equal(t, ensure.Unchanged, found.Operation)
		return len(program.Requests(t, shared, mark, w.agent)) == 0
	})
}
