package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

func (f *fixture) set(children []client.Object, opts ...ensure.SetOption) (ensure.Results, error) {
	return ensure.Set(f.ctx, f.ensurer, f.owner, children, opts...)
}

func (f *fixture) mustSet(children []client.Object, opts ...ensure.SetOption) ensure.Results {
	f.t.Helper()
	results, err := f.set(children, opts...)
	require.NoError(f.t, err)
	return results
}

// configs are ConfigMaps of these names.
func (f *fixture) configs(names ...string) []client.Object {
	var children []client.Object
	for _, name := range names {
		children = append(children, f.config(name, "made"))
	}
	return children
}

func operations(results []ensure.Result[client.Object]) []ensure.Operation {
	operations := make([]ensure.Operation, len(results))
	for i, result := range results {
		operations[i] = result.Operation
	}
	return operations
}

// pruned returns the names of the deleted objects and of those being deleted, with the operation.
func pruned(results ensure.Results) []string {
	var found []string
	for _, result := range results.Pruned {
		name := "gone"
		if result.Live != nil {
			name = result.Live.GetName()
		}
		found = append(found, string(result.Operation)+" "+name)
	}
	return found
}

// TestSetStopsAtTheFirstError: children before the error are ensured, children after the error are
// not.
func TestSetStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	require.NoError(t, policiesInstalled())
	f := newFixture(t)
	f.mustSet(f.configs("a", "old"))

	refused := refusal{policyOn: "BOTH"}.of(f.config("c", "made"))
	children := []client.Object{f.config("a", "changed"), f.config("b", "made"), refused, f.config("d", "made")}
	results, err := f.set(children, ensure.Prune(&corev1.ConfigMap{}))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	var e *ensure.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, f.keyOf(refused), e.Key)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Updated, ensure.Created, "", ""}, operations(results.Children)))
	require.Empty(t, results.Pruned)
	require.Equal(t, ensure.Created, ensure.ResultOf(results, children[1]).Operation)
	require.Nil(t, f.find(refused))
	require.Nil(t, f.find(children[3]))
	require.True(t, f.exists(f.config("old", "")))

	children[2] = f.config("c", "made")
	results, err = f.set(children, ensure.Prune(&corev1.ConfigMap{}))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Unchanged, ensure.Unchanged, ensure.Created, ensure.Created}, operations(results.Children)))
	require.Empty(t, cmp.Diff([]string{"Deleting old"}, pruned(results)))
	require.Nil(t, f.find(f.config("old", "")))
}

// TestSetRefusesFirst: programming errors are found before the first request.
func TestSetRefusesFirst(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]client.Object{
		"no name":          &corev1.ConfigMap{},
		"twice":            &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		"elsewhere":        &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}},
		"a copy":           &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c", ResourceVersion: "1"}},
		"twice in another": untyped(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			mark := shared.Mark()
			results, err := f.set(append(f.configs("a", "b"), last), ensure.Prune(&corev1.ConfigMap{}))
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.Empty(t, f.requestCounts(mark))
			require.Empty(t, cmp.Diff([]ensure.Operation{"", "", ""}, operations(results.Children)))
			require.Nil(t, f.find(f.config("a", "")))
		})
	}
}

// TestSetIsFree: unchanged children and the search for children to prune cost no requests.
func TestSetIsFree(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	secrets := &unstructured.Unstructured{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	accounts := &metav1.PartialObjectMetadata{}
	accounts.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	prune := ensure.Prune(&corev1.ConfigMap{}, secrets, accounts)
	secret := func(name string) client.Object {
		u := &unstructured.Unstructured{Object: map[string]any{"stringData": map[string]any{"key": "value"}}}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		u.SetName(name)
		return u
	}
	account := func(name string) client.Object { return &corev1.ServiceAccount{ObjectMeta: f.objectMeta(name)} }
	kept := []client.Object{f.config("kept", "made"), secret("kept"), account("kept")}
	dropped := []client.Object{f.config("dropped", "made"), secret("dropped"), account("dropped")}

	mark := shared.Mark()
	f.mustSet(append(kept, dropped...), prune)
	require.Empty(t, cmp.Diff(map[string]int{"patch configmaps": 2, "patch secrets": 2, "patch serviceaccounts": 2}, f.requestCounts(mark)))
	for _, child := range dropped {
		f.awaitCached(child)
	}
	f.await("the caches of all forms to show what is there", func() bool { // the other forms have caches of their own
		results := f.mustSet(append(kept, dropped...), prune)
		all := f.mustSet(kept, prune, ensure.DryRun())
		return len(results.Pruned) == 0 && len(all.Pruned) == 3
	})

	mark = shared.Mark()
	results := f.mustSet(kept, prune)
	require.Empty(t, cmp.Diff([]string{"Deleting dropped", "Deleting dropped", "Deleting dropped"}, pruned(results)))
	require.Empty(t, cmp.Diff(map[string]int{
		"get configmaps": 1, "delete configmaps": 1, "delete secrets": 1, "delete serviceaccounts": 1,
	}, f.requestCounts(mark)), "the owner is read, once")
	require.IsType(t, accounts, results.Pruned[0].Live)
	require.IsType(t, secrets, results.Pruned[1].Live)
	require.IsType(t, &corev1.ConfigMap{}, results.Pruned[2].Live)

	mark = shared.Mark()
	for range 5 {
		results = f.mustSet(kept, prune)
		require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Unchanged, ensure.Unchanged, ensure.Unchanged}, operations(results.Children)))
		require.Empty(t, results.Pruned)
	}
	require.Empty(t, f.requestCounts(mark))
}

// TestSetTriesDry: a dry run stores nothing and reports the changes.
func TestSetTriesDry(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	f.mustSet(f.configs("a", "old"))
	children := []client.Object{f.config("a", "changed"), f.config("b", "made")}
	prune := ensure.Prune(&corev1.ConfigMap{})
	a, old := f.find(f.config("a", "")), f.find(f.config("old", ""))

	told := f.mustSet(children, prune, ensure.DryRun())
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Updated, ensure.Created}, operations(told.Children)))
	require.Empty(t, cmp.Diff([]string{"Deleting old"}, pruned(told)))
	require.Empty(t, cmp.Diff(a, f.find(f.config("a", ""))))
	require.Empty(t, cmp.Diff(old, f.find(f.config("old", ""))))
	require.Nil(t, f.find(f.config("b", "")))
	f.requireNoWait()

	done := f.mustSet(children, prune)
	require.Empty(t, cmp.Diff(operations(told.Children), operations(done.Children)))
	require.Empty(t, cmp.Diff(pruned(told), pruned(done)))
	require.Nil(t, f.find(f.config("old", "")))
}

// TestSetRecreatesOne: Recreate for one child does not apply to another.
func TestSetRecreatesOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustSet([]client.Object{f.frozen("a", "made"), f.frozen("b", "made")})
	a, b := f.frozen("a", "changed"), f.frozen("b", "changed")
	before := f.find(b)
	results, err := f.set([]client.Object{a, b}, ensure.OnlyFor(a, recreate))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Recreated, ""}, operations(results.Children)))
	require.Empty(t, cmp.Diff(before, f.find(b)))
	results = f.mustSet([]client.Object{a, b}, recreate)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Unchanged, ensure.Recreated}, operations(results.Children)))
}

// TestSetTakesBack: a child that is wanted again while the old one is still going.
func TestSetTakesBack(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	prune := ensure.Prune(&corev1.ConfigMap{})
	f.mustSet(f.configs("a", "b"), prune)
	f.hold(f.config("b", ""))
	results := f.mustSet(f.configs("a"), prune)
	require.Empty(t, cmp.Diff([]string{"Deleting b"}, pruned(results)))
	old := f.find(f.config("b", ""))
	f.awaitCached(old)

	mark := shared.Mark()
	_, err := f.set(f.configs("a", "b"), prune)
	require.ErrorIs(t, err, ensure.ErrTerminating)
	require.Empty(t, f.requestCounts(mark))
	f.release(f.config("b", ""))
	results = f.mustSet(f.configs("a", "b"), prune)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Unchanged, ensure.Created}, operations(results.Children)))
	require.NotEqual(t, old.GetUID(), f.find(f.config("b", "")).GetUID())
}

// hold keeps an object from going.
func (f *fixture) hold(obj client.Object) {
	f.t.Helper()
	live := f.find(obj)
	live.SetFinalizers([]string{"example.com/held"})
	require.NoError(f.t, f.admin.Update(f.ctx, live))
	f.awaitCached(obj)
}
