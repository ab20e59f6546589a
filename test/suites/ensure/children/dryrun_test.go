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

// A dryRunCase is a call that is made as a dry run first, and then for real.
type dryRunCase struct {
	// live is the object before the call, if any; edit returns the object as a user changed it.
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
	for name, build := range map[string]func(*fixture) dryRunCase{
		"create": func(f *fixture) dryRunCase {
			return dryRunCase{
				desired: f.config("config", "made"), want: ensure.Created, cause: ensure.Missing,
				dry: map[string]int{"patch configmaps (dry run)": 1},
			}
		},
		"update": func(f *fixture) dryRunCase {
			return dryRunCase{
				live: f.config("config", "made"), desired: f.config("config", "changed"),
				want: ensure.Updated, cause: ensure.DesiredChanged, dry: map[string]int{"patch configmaps (dry run)": 1},
			}
		},
		"put back": func(f *fixture) dryRunCase {
			return dryRunCase{
				live: f.config("config", "made"), desired: f.config("config", "made"),
				edit: func(obj client.Object) { obj.(*corev1.ConfigMap).Data["key"] = "edited" },
				want: ensure.Updated, cause: ensure.Drifted, dry: map[string]int{"patch configmaps (dry run)": 1},
			}
		},
		"repair": func(f *fixture) dryRunCase {
			return dryRunCase{
				live: f.service(0), desired: f.service(0),
				edit: func(obj client.Object) { obj.(*corev1.Service).Spec.Ports[0].Port = 81 },
				want: ensure.Updated, cause: ensure.Drifted,
				dry: map[string]int{"patch services (dry run)": 3, "get services": 1},
			}
		},
		"recreate": func(f *fixture) dryRunCase {
			return dryRunCase{
				live: f.frozen("config", "made"), desired: f.frozen("config", "changed"),
				want: ensure.Recreated, cause: ensure.DesiredChanged,
				dry: map[string]int{"patch configmaps (dry run)": 2, "get configmaps": 1, "create configmaps (dry run)": 1, "delete configmaps": 1},
			}
		},
		"recreate what is unstructured": func(f *fixture) dryRunCase {
			return dryRunCase{
				live: untyped(f.frozen("config", "made")), desired: untyped(f.frozen("config", "changed")),
				want: ensure.Recreated, cause: ensure.DesiredChanged,
				dry: map[string]int{"patch configmaps (dry run)": 2, "get configmaps": 1, "create configmaps (dry run)": 1, "delete configmaps": 1},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCachedFixture(t)
			f.checkDryRun(build(f))
		})
	}
}

func (f *fixture) checkDryRun(tr dryRunCase) {
	f.t.Helper()
	if tr.live != nil {
		f.mustEnsure(ensure.Created, tr.live)
		if tr.edit != nil {
			live := f.find(tr.live)
			tr.edit(live)
			require.NoError(f.t, f.admin.Update(f.ctx, live))
		}
		f.awaitCached(tr.live)
	}
	before := f.find(tr.desired)
	var told ensure.Result[client.Object]
	for range 2 {
		mark := shared.Mark()
		told = f.mustEnsure(tr.want, tr.desired, recreate, ensure.DryRun())
		require.Equal(f.t, tr.cause, told.Cause)
		require.Empty(f.t, cmp.Diff(tr.dry, f.requestCounts(mark)))
		require.Empty(f.t, cmp.Diff(before, f.find(tr.desired)), "something was stored")
		f.requireNoWait()
	}
	done := f.mustEnsure(tr.want, tr.desired, recreate)
	require.Equal(f.t, tr.cause, done.Cause)
	require.Empty(f.t, cmp.Diff(told.Changes, done.Changes))
	f.awaitCached(tr.desired)
	mark := shared.Mark()
	f.mustEnsure(ensure.Unchanged, tr.desired, ensure.DryRun())
	f.mustEnsure(ensure.Unchanged, tr.desired)
	require.Empty(f.t, f.requestCounts(mark))
}

// requireNoWait checks that a client that reads its own writes does not wait for a write that is
// never stored.
func (f *fixture) requireNoWait() {
	f.t.Helper()
	require.NoError(f.t, f.client.List(f.ctx, &corev1.ConfigMapList{}, client.InNamespace(f.namespace)))
	require.NoError(f.t, f.client.List(f.ctx, &corev1.ServiceList{}, client.InNamespace(f.namespace)))
	untypedList := &unstructured.UnstructuredList{}
	untypedList.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	require.NoError(f.t, f.client.List(f.ctx, untypedList, client.InNamespace(f.namespace)))
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
	f := newFixture(t)
	held := f.frozen("config", "made")
	held.Finalizers = []string{"example.com/held"}
	f.mustEnsure(ensure.Created, held)
	desired := f.frozen("config", "changed")
	_, err := f.ensure(desired, recreate)
	require.ErrorIs(t, err, ensure.ErrTerminating)
	f.release(desired)
	f.mustEnsure(ensure.Created, desired, recreate, ensure.DryRun())
	res := f.mustEnsure(ensure.Recreated, desired, recreate)
	require.Contains(t, pathsOf(res.Changes), "data[key]")
}

// release removes the finalizers of an object that is being deleted and waits until the object is
// gone.
func (f *fixture) release(obj client.Object) {
	f.t.Helper()
	live := f.find(obj)
	require.NotNil(f.t, live.GetDeletionTimestamp())
	live.SetFinalizers(nil)
	require.NoError(f.t, f.admin.Update(f.ctx, live))
	f.await("the object to be gone", func() bool {
		found := f.find(obj)
		return found == nil || found.GetUID() != live.GetUID()
	})
	f.awaitCached(obj)
}

// TestIfExists: a missing object is not created.
func TestIfExists(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	f.mustEnsure(ensure.Gone, f.config("config", "made"), ensure.IfExists()) // the cache's informer begins
	mark := shared.Mark()
	for range 5 {
		res := f.mustEnsure(ensure.Gone, f.config("config", "made"), ensure.IfExists())
		require.Nil(t, res.Live)
	}
	require.Empty(t, f.requestCounts(mark))

	require.NoError(t, f.admin.Create(f.ctx, f.config("config", "theirs")))
	f.awaitCached(f.config("config", ""))
	_, err := f.ensure(f.config("config", "made"), ensure.IfExists())
	require.ErrorIs(t, err, ensure.ErrForeign)
	mark = shared.Mark()
	res := f.mustEnsure(ensure.Updated, f.config("config", "made"), ensure.IfExists(), ensure.Adopt())
	require.Equal(t, ensure.Adopted, res.Cause)
	want := map[string]int{"get configmaps": 1, "patch configmaps": 1} // the owner, the child
	require.Empty(t, cmp.Diff(want, f.requestCounts(mark)))

	require.NoError(t, f.admin.Delete(f.ctx, f.config("config", "")))
	f.awaitCached(f.config("config", ""))
	f.mustEnsure(ensure.Gone, f.config("config", "made"), ensure.IfExists())
	require.Nil(t, f.find(f.config("config", "")))
}

// TestIfExistsThenNot: an object deleted between the read and the write is not created again.
func TestIfExistsThenNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustEnsure(ensure.Created, f.config("config", "made"))
	m := f.intercept()
	m.beforePatch = func() {
		m.beforePatch = nil
		require.NoError(t, f.admin.Delete(f.ctx, f.config("config", "")))
	}
	mark := shared.Mark()
	res := f.mustEnsure(ensure.Gone, f.config("config", "changed"), ensure.IfExists())
	require.Nil(t, res.Live)
	require.Empty(t, cmp.Diff(map[string]int{"get configmaps": 2, "patch configmaps": 1}, f.requestCounts(mark)))
	require.Nil(t, f.find(f.config("config", "")))
}

// TestIfExistsGrowsClaims: a StatefulSet makes its claims, and nobody controls them.
func TestIfExistsGrowsClaims(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	class := f.createExpandableClass()
	f.createVolumeFor("data-db-0", class)
	database := f.database("1Gi")
	database.Spec.Replicas, database.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new(int32(1)), &class
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: f.objectMeta("data-db-0")}
	claim.Labels = map[string]string{"grown": "yes"}
	claim.Spec.Resources.Requests = f.database("2Gi").Spec.VolumeClaimTemplates[0].Spec.Resources.Requests
	grow := func() (ensure.Result[*corev1.PersistentVolumeClaim], error) {
		return ensure.Object(f.ctx, f.ensurer, claim, ensure.IfExists(), ensure.Adopt())
	}
	found, err := grow()
	require.NoError(t, err)
	require.Equal(t, ensure.Gone, found.Operation)

	f.mustEnsure(ensure.Created, database)
	f.settled(claim, func(obj client.Object) bool {
		return obj.(*corev1.PersistentVolumeClaim).Status.Phase == corev1.ClaimBound
	})
	before := f.find(claim)
	found, err = grow()
	require.NoError(t, err)
	require.Equal(t, ensure.Updated, found.Operation)
	require.Equal(t, ensure.Adopted, found.Cause)
	require.Contains(t, pathsOf(found.Changes), "spec.resources.requests[storage]")
	after := f.find(claim).(*corev1.PersistentVolumeClaim)
	require.Equal(t, before.GetUID(), after.UID)
	require.Equal(t, "2Gi", after.Spec.Resources.Requests.Storage().String())
	require.Equal(t, map[string]string{"app": "db", "grown": "yes"}, after.Labels)
	require.Empty(t, cmp.Diff(before.GetOwnerReferences(), after.OwnerReferences))
	f.await("nothing left to ask", func() bool {
		mark := shared.Mark()
		found, err := grow()
		require.NoError(t, err)
		require.Equal(t, ensure.Unchanged, found.Operation)
		return len(program.Requests(t, shared, mark, f.userAgent)) == 0
	})
}
