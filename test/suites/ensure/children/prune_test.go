package children_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// workshops are operators with each sort of client.
var workshops = map[string]func(*testing.T) *workshop{
	"plain client":                 newWorkshop,
	"cache":                        newCachedWorkshop,
	"cache without managed fields": newStrippedWorkshop,
}

// newStrippedWorkshop has an operator with a manager's client whose cache strips managed
// fields.
func newStrippedWorkshop(t *testing.T) *workshop {
	t.Helper()
	agent := "operator of " + t.Name()
	scheme, err := program.Scheme()
	require.NoError(t, err)
	running := cluster.Cached(t, program.Config(shared, agent), runtimecluster.Options{
		Scheme: scheme,
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Cache:  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	return workshopWith(t, agent, running.GetClient(), running.GetAPIReader())
}

// controlledByOwner makes the owner the controller of obj, as other programs do, too.
func (w *workshop) controlledByOwner(obj client.Object) client.Object {
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
	return obj
}

// TestPruneDeletesOnlyItsOwn: of all that has something of the owner or of the operator.
func TestPruneDeletesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	for name, open := range workshops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			w.mustSet(w.configs("kept", "dropped", "orphan", "copied-from"))
			spared := []client.Object{w.config("kept", ""), w.config("orphan", "")}

			orphan := w.find(w.config("orphan", ""))
			orphan.SetOwnerReferences(nil)
			require.NoError(t, w.human.Update(w.ctx, orphan))

			spared = append(spared, w.ofPreviousOwner())

			_, err := ensure.Set(w.ctx, ensure.New(w.client, w.reader, "neighbour"), w.owner, w.configs("of-another-operator"))
			require.NoError(t, err)
			spared = append(spared, w.config("of-another-operator", ""))

			handmade := w.controlledByOwner(w.config("handmade", "made"))
			require.NoError(t, w.human.Create(w.ctx, handmade))
			spared = append(spared, handmade)

			copied := w.controlledByOwner(w.config("copied", "made"))
			copied.SetAnnotations(w.find(w.config("copied-from", "")).GetAnnotations())
			require.Contains(t, copied.GetAnnotations(), workshopDigest)
			require.NoError(t, w.human.Create(w.ctx, copied))
			spared = append(spared, copied)

			before := w.findAll(spared)
			for _, obj := range append(spared, w.config("dropped", ""), w.config("copied-from", "")) {
				w.awaitCached(obj)
			}
			w.restart()
			for _, want := range [][]string{{"Deleting copied-from", "Deleting dropped"}, nil, nil} {
				found := pruned(w.mustSet(w.configs("kept"), ensure.Prune(&corev1.ConfigMap{})))
				slices.Sort(found) // within a second they go by name
				require.Empty(t, cmp.Diff(want, found))
			}
			require.Empty(t, cmp.Diff(before, w.findAll(spared)))
		})
	}
}

func (w *workshop) findAll(objs []client.Object) []client.Object {
	w.t.Helper()
	var found []client.Object
	for _, obj := range objs {
		found = append(found, w.find(obj))
	}
	return found
}

// ofPreviousOwner creates a child of an earlier owner of the same name that the garbage collector
// has not removed yet.
func (w *workshop) ofPreviousOwner() client.Object {
	w.t.Helper()
	previous := w.newOwner("previous")
	_, err := ensure.Set(w.ctx, w.ensurer, previous, w.configs("left-over"))
	require.NoError(w.t, err)
	leftOver := w.config("left-over", "")
	w.hold(leftOver)
	require.NoError(w.t, w.human.Delete(w.ctx, previous))
	w.await("the garbage collector", func() bool { return !w.exists(leftOver) })
	return leftOver
}

// TestPruneSecondOwner: an owner does not delete the children of an earlier owner of the same name,
// nor the objects that the earlier owner left behind on purpose.
func TestPruneSecondOwner(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	w.mustSet(w.configs("a", "b"))
	first := w.owner.GetUID()
	require.NoError(t, w.human.Delete(w.ctx, w.owner, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	w.await("the first owner to be gone", func() bool { return w.find(w.owner) == nil })
	w.owner = w.newOwner("owner")
	require.NotEqual(t, first, w.owner.GetUID())
	w.awaitCached(w.config("a", ""))
	w.awaitCached(w.config("b", ""))

	results := w.mustSet(w.configs("a"), ensure.Prune(&corev1.ConfigMap{}))
	require.Equal(t, ensure.Updated, results.Children[0].Operation, "ours, and nobody's since")
	require.Empty(t, results.Pruned)
	require.True(t, w.exists(w.config("b", "")))
	results = w.mustSet(nil, ensure.Prune(&corev1.ConfigMap{}))
	require.Empty(t, cmp.Diff([]string{"Deleting a"}, pruned(results)))
}

// TestPruneReplicaSets: they carry the annotations of their Deployment, the digest as well.
func TestPruneReplicaSets(t *testing.T) {
	t.Parallel()
	for name, open := range workshops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			w.mustBe(ensure.Created, w.deployment(1))
			owner := w.settled(w.deployment(1), isReady)
			children := w.list(&appsv1.ReplicaSetList{})
			require.Len(t, children, 1)
			require.Contains(t, children[0].GetAnnotations(), workshopDigest)
			require.True(t, metav1.IsControlledBy(children[0], owner))
			w.awaitCached(children[0])
			for range 2 {
				results, err := ensure.Set(w.ctx, w.ensurer, owner, nil, ensure.Prune(&appsv1.ReplicaSet{}))
				require.NoError(t, err)
				require.Empty(t, results.Pruned)
			}
			require.True(t, w.exists(children[0]))
		})
	}
}

// TestPruneAcrossNamespaces: only an owner that is in none has children in several.
func TestPruneAcrossNamespaces(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	other := shared.Namespace(t)
	owner := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	require.NoError(t, w.human.Create(w.ctx, owner))
	t.Cleanup(func() { require.NoError(t, w.human.Delete(context.Background(), owner)) })
	there := func(name string) client.Object {
		obj := w.config(name, "made")
		obj.Namespace = other
		return obj
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-child"}}
	prune := ensure.Prune(&corev1.ConfigMap{}, &rbacv1.ClusterRole{})
	all := []client.Object{w.config("a", "made"), w.config("b", "made"), there("a"), there("b"), role}
	_, err := ensure.Set(w.ctx, w.ensurer, owner, all, prune)
	require.NoError(t, err)
	w.mustSet(w.configs("of-a-namespaced-owner"))

	results, err := ensure.Set(w.ctx, w.ensurer, owner, []client.Object{w.config("a", "made"), there("b")}, prune)
	require.NoError(t, err)
	var found []string
	for _, result := range results.Pruned {
		found = append(found, result.Live.GetNamespace()+"/"+result.Live.GetName())
	}
	slices.Sort(found)
	want := []string{"/" + role.Name, w.namespace + "/b", other + "/a"}
	slices.Sort(want)
	require.Empty(t, cmp.Diff(want, found))
	require.True(t, w.exists(w.config("a", "")))
	require.True(t, w.exists(w.config("of-a-namespaced-owner", "")))

	_, err = w.set(nil, ensure.Prune(&rbacv1.ClusterRole{}))
	require.ErrorIs(t, err, ensure.ErrRefused, "a namespaced owner has no such children")
}

// stale is a client whose lists are of the past.
type stale struct {
	client.Client
	past []client.Object
}

func (s *stale) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if configs, ok := list.(*corev1.ConfigMapList); ok {
		for _, obj := range s.past {
			configs.Items = append(configs.Items, *obj.(*corev1.ConfigMap).DeepCopy())
		}
	}
	return nil
}

// TestPruneBehindAStaleCache: the live object decides where the cached copy is outdated.
func TestPruneBehindAStaleCache(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	names := []string{"edited", "deleted", "going", "replaced", "taken", "let-go"}
	w.mustSet(w.configs(names...))
	s := &stale{Client: w.client}
	for _, name := range names {
		s.past = append(s.past, w.find(w.config(name, "")))
	}
	w.client = s
	w.restart()

	edited := w.find(w.config("edited", ""))
	edited.SetLabels(map[string]string{"edited": "yes"})
	require.NoError(t, w.human.Update(w.ctx, edited))
	require.NoError(t, w.human.Delete(w.ctx, w.config("deleted", "")))
	w.client = s.Client // hold waits for what the operator sees
	w.hold(w.config("going", ""))
	require.NoError(t, w.human.Delete(w.ctx, w.config("going", "")))
	require.NoError(t, w.human.Delete(w.ctx, w.config("replaced", "")))
	require.NoError(t, w.human.Create(w.ctx, w.controlledByOwner(w.config("replaced", "theirs"))))
	taken := w.find(w.config("taken", ""))
	taken.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(w.newOwner("another"), corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
	require.NoError(t, w.human.Update(w.ctx, taken))
	letGo := w.find(w.config("let-go", ""))
	letGo.SetOwnerReferences(nil)
	require.NoError(t, w.human.Update(w.ctx, letGo))

	mark := shared.Mark()
	results := w.mustSet(nil, ensure.Prune(&corev1.ConfigMap{}))
	found := pruned(results)
	slices.Sort(found)
	require.Empty(t, cmp.Diff([]string{"Deleting edited", "Deleting going", "Gone deleted"}, found))
	require.Empty(t, cmp.Diff(map[string]int{"delete configmaps": 7, "get configmaps": 6}, w.counts(mark)))
	for _, name := range []string{"replaced", "taken", "let-go"} {
		require.True(t, w.exists(w.config(name, "")), name)
	}
	require.Nil(t, w.find(w.config("edited", "")))
}

// TestPruneWaitsForFinalizers: waiting for the finalizers of other programs costs no requests.
func TestPruneWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	for name, open := range workshops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			prune := ensure.Prune(&corev1.ConfigMap{})
			w.mustSet(w.configs("kept", "held"), prune)
			w.hold(w.config("held", ""))
			require.Empty(t, cmp.Diff([]string{"Deleting held"}, pruned(w.mustSet(w.configs("kept"), prune))))
			w.awaitCached(w.config("held", ""))
			mark := shared.Mark()
			for range 5 {
				require.Empty(t, cmp.Diff([]string{"Deleting held"}, pruned(w.mustSet(w.configs("kept"), prune))))
			}
			require.Zero(t, w.counts(mark)["delete configmaps"])
			if name != "plain client" {
				require.Empty(t, w.counts(mark))
			}
			w.release(w.config("held", ""))
			require.Empty(t, pruned(w.mustSet(w.configs("kept"), prune)))
		})
	}
}

// TestPruneAfterRestart: another process with another cache recognises the operator's children.
func TestPruneAfterRestart(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	w.mustSet(w.configs("kept", "dropped"))
	agent := w.agent + ", again"
	again := program.Cached(t, shared, agent)
	w.agent, w.client, w.reader = agent, again.GetClient(), again.GetAPIReader()
	w.restart()
	mark := shared.Mark()
	results := w.mustSet(w.configs("kept"), ensure.Prune(&corev1.ConfigMap{}))
	require.Empty(t, cmp.Diff([]string{"Deleting dropped"}, pruned(results)))
	require.Empty(t, cmp.Diff(map[string]int{"get configmaps": 1, "delete configmaps": 1}, w.counts(mark)))
}

// TestPruneOrder: the newest child is deleted first.
func TestPruneOrder(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	secret := func(name string) client.Object { return &corev1.Secret{ObjectMeta: w.named(name)} }
	w.mustSet([]client.Object{w.config("z", "made"), secret("z")})
	w.await("another second", func() bool { // times are in whole seconds
		probe := w.config("probe", "made")
		require.NoError(t, w.human.Create(w.ctx, probe, client.DryRunAll))
		before := w.find(secret("z")).GetCreationTimestamp()
		return before.Before(&probe.CreationTimestamp)
	})
	w.mustSet([]client.Object{w.config("a", "made"), secret("a")})

	mark := shared.Mark()
	results := w.mustSet(nil, ensure.Prune(&corev1.ConfigMap{}, &corev1.Secret{}))
	require.Empty(t, cmp.Diff([]string{"Deleting a", "Deleting z", "Deleting a", "Deleting z"}, pruned(results)))
	var order []string
	for _, r := range program.Requests(t, shared, mark, w.agent) {
		order = append(order, strings.TrimSpace(r.String()+" "+r.Name))
	}
	require.Empty(t, cmp.Diff([]string{"get configmaps owner", "delete secrets a", "delete secrets z", "delete configmaps a", "delete configmaps z"}, order))
}

// TestPrunePropagation: dependents are deleted or stay, as the propagation policy demands.
func TestPrunePropagation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		opts  []ensure.Option
		stays bool
	}{
		"by default": {nil, false},
		"foreground": {[]ensure.Option{ensure.Propagation(metav1.DeletePropagationForeground)}, false},
		"orphan":     {[]ensure.Option{ensure.Propagation(metav1.DeletePropagationOrphan)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCachedWorkshop(t)
			w.mustSet([]client.Object{w.deployment(1)})
			w.settled(w.deployment(1), isReady)
			opts := append([]ensure.Option{ensure.Prune(&appsv1.Deployment{})}, tc.opts...)
			require.Empty(t, cmp.Diff([]string{"Deleting web"}, pruned(w.mustSet(nil, opts...))))
			w.await("the Deployment to be gone", func() bool { return len(w.mustSet(nil, opts...).Pruned) == 0 })
			require.Nil(t, w.find(w.deployment(1)))
			if tc.stays {
				require.Len(t, w.list(&appsv1.ReplicaSetList{}), 1)
				return
			}
			w.await("its ReplicaSet to be gone", func() bool { return len(w.list(&appsv1.ReplicaSetList{})) == 0 })
		})
	}
}

// TestPruneWithoutRights: the error names the forbidden verb and the object.
func TestPruneWithoutRights(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		verbs     []string
		operation string
		object    string
	}{
		"delete": {[]string{"get", "list", "watch", "create", "patch"}, "delete", "dropped"},
		"list":   {[]string{"get", "create", "patch", "delete"}, "list", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t)
			w.mustSet(w.configs("dropped"))
			w.serviceAccount(tc.verbs...)
			results, err := w.set(w.configs("kept"), ensure.Prune(&corev1.ConfigMap{}))
			require.ErrorIs(t, err, ensure.ErrAPI)
			require.True(t, apierrors.IsForbidden(err))
			var e *ensure.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.operation, e.Operation)
			require.Equal(t, tc.object, e.Key.Name)
			require.Contains(t, err.Error(), tc.object)
			require.ErrorContains(t, err, "cannot "+tc.operation+` resource "configmaps"`)
			require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Created}, operations(results.Children)), "the children are done")
			require.True(t, w.exists(w.config("dropped", "")))
		})
	}
}
