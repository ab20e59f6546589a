package children_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

func (w *workshop) set(children []client.Object, opts ...ensure.Option) (ensure.Results, error) {
	return ensure.Set(w.ctx, w.ensurer, w.owner, children, opts...)
}

func (w *workshop) mustSet(children []client.Object, opts ...ensure.Option) ensure.Results {
	w.t.Helper()
	results, err := w.set(children, opts...)
	require.NoError(w.t, err)
	return results
}

// configs are ConfigMaps of these names.
func (w *workshop) configs(names ...string) []client.Object {
	var children []client.Object
	for _, name := range names {
		children = append(children, w.config(name, "made"))
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
	w := newWorkshop(t)
	w.mustSet(w.configs("a", "old"))

	refused := refusal{policyOn: "BOTH"}.of(w.config("c", "made"))
	children := []client.Object{w.config("a", "changed"), w.config("b", "made"), refused, w.config("d", "made")}
	results, err := w.set(children, ensure.Prune(&corev1.ConfigMap{}))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	var e *ensure.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, w.keyOf(refused), e.Key)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Updated, ensure.Created, "", ""}, operations(results.Children)))
	require.Empty(t, results.Pruned)
	require.Equal(t, ensure.Created, ensure.ResultOf(results, children[1]).Operation)
	require.Nil(t, w.find(refused))
	require.Nil(t, w.find(children[3]))
	require.True(t, w.exists(w.config("old", "")))

	children[2] = w.config("c", "made")
	results, err = w.set(children, ensure.Prune(&corev1.ConfigMap{}))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Unchanged, ensure.Unchanged, ensure.Created, ensure.Created}, operations(results.Children)))
	require.Empty(t, cmp.Diff([]string{"Deleting old"}, pruned(results)))
	require.Nil(t, w.find(w.config("old", "")))
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
			w := newWorkshop(t)
			mark := shared.Mark()
			results, err := w.set(append(w.configs("a", "b"), last), ensure.Prune(&corev1.ConfigMap{}))
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.Empty(t, w.counts(mark))
			require.Empty(t, cmp.Diff([]ensure.Operation{"", "", ""}, operations(results.Children)))
			require.Nil(t, w.find(w.config("a", "")))
		})
	}
}

// TestSetIsFree: unchanged children and the search for children to prune cost no requests.
func TestSetIsFree(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
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
	account := func(name string) client.Object { return &corev1.ServiceAccount{ObjectMeta: w.named(name)} }
	kept := []client.Object{w.config("kept", "made"), secret("kept"), account("kept")}
	dropped := []client.Object{w.config("dropped", "made"), secret("dropped"), account("dropped")}

	mark := shared.Mark()
	w.mustSet(append(kept, dropped...), prune)
	require.Empty(t, cmp.Diff(map[string]int{"patch configmaps": 2, "patch secrets": 2, "patch serviceaccounts": 2}, w.counts(mark)))
	for _, child := range dropped {
		w.awaitCached(child)
	}
	w.await("the caches of all forms to show what is there", func() bool { // the other forms have caches of their own
		results := w.mustSet(append(kept, dropped...), prune)
		all := w.mustSet(kept, prune, ensure.DryRun())
		return len(results.Pruned) == 0 && len(all.Pruned) == 3
	})

	mark = shared.Mark()
	results := w.mustSet(kept, prune)
	require.Empty(t, cmp.Diff([]string{"Deleting dropped", "Deleting dropped", "Deleting dropped"}, pruned(results)))
	require.Empty(t, cmp.Diff(map[string]int{
		"get configmaps": 1, "delete configmaps": 1, "delete secrets": 1, "delete serviceaccounts": 1,
	}, w.counts(mark)), "the owner is read, once")
	require.IsType(t, accounts, results.Pruned[0].Live)
	require.IsType(t, secrets, results.Pruned[1].Live)
	require.IsType(t, &corev1.ConfigMap{}, results.Pruned[2].Live)

	mark = shared.Mark()
	for range 5 {
		results = w.mustSet(kept, prune)
		require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Unchanged, ensure.Unchanged, ensure.Unchanged}, operations(results.Children)))
		require.Empty(t, results.Pruned)
	}
	require.Empty(t, w.counts(mark))
}

// TestSetTriesDry: a dry run stores nothing and reports the changes.
func TestSetTriesDry(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	w.mustSet(w.configs("a", "old"))
	children := []client.Object{w.config("a", "changed"), w.config("b", "made")}
	prune := ensure.Prune(&corev1.ConfigMap{})
	a, old := w.find(w.config("a", "")), w.find(w.config("old", ""))

	told := w.mustSet(children, prune, ensure.DryRun())
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Updated, ensure.Created}, operations(told.Children)))
	require.Empty(t, cmp.Diff([]string{"Deleting old"}, pruned(told)))
	require.Empty(t, cmp.Diff(a, w.find(w.config("a", ""))))
	require.Empty(t, cmp.Diff(old, w.find(w.config("old", ""))))
	require.Nil(t, w.find(w.config("b", "")))
	w.requireNoWait()

	done := w.mustSet(children, prune)
	require.Empty(t, cmp.Diff(operations(told.Children), operations(done.Children)))
	require.Empty(t, cmp.Diff(pruned(told), pruned(done)))
	require.Nil(t, w.find(w.config("old", "")))
}

// TestSetRecreatesOne: Recreate for one child does not apply to another.
func TestSetRecreatesOne(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.mustSet([]client.Object{w.frozen("a", "made"), w.frozen("b", "made")})
	a, b := w.frozen("a", "changed"), w.frozen("b", "changed")
	before := w.find(b)
	results, err := w.set([]client.Object{a, b}, ensure.OnlyFor(a, anew))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Recreated, ""}, operations(results.Children)))
	require.Empty(t, cmp.Diff(before, w.find(b)))
	results = w.mustSet([]client.Object{a, b}, anew)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Unchanged, ensure.Recreated}, operations(results.Children)))
}

// TestSetTakesBack: a child that is wanted again while the old one is still going.
func TestSetTakesBack(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	prune := ensure.Prune(&corev1.ConfigMap{})
	w.mustSet(w.configs("a", "b"), prune)
	w.hold(w.config("b", ""))
	results := w.mustSet(w.configs("a"), prune)
	require.Empty(t, cmp.Diff([]string{"Deleting b"}, pruned(results)))
	old := w.find(w.config("b", ""))
	w.awaitCached(old)

	mark := shared.Mark()
	_, err := w.set(w.configs("a", "b"), prune)
	require.ErrorIs(t, err, ensure.ErrTerminating)
	require.Empty(t, w.counts(mark))
	w.release(w.config("b", ""))
	results = w.mustSet(w.configs("a", "b"), prune)
	require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Unchanged, ensure.Created}, operations(results.Children)))
	require.NotEqual(t, old.GetUID(), w.find(w.config("b", "")).GetUID())
}

// hold keeps an object from going.
func (w *workshop) hold(obj client.Object) {
	w.t.Helper()
	live := w.find(obj)
	live.SetFinalizers([]string{"example.com/held"})
	require.NoError(w.t, w.human.Update(w.ctx, live))
	w.t.Cleanup(func() { // or the namespace would stay
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		err := w.human.Patch(context.Background(), live, patch)
		if !apierrors.IsNotFound(err) {
			require.NoError(w.t, err)
		}
	})
	w.awaitCached(obj)
}
