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

// fixtures are operators with each sort of client.
var fixtures = map[string]func(*testing.T) *fixture{
	"plain client":                 newFixture,
	"cache":                        newCachedFixture,
	"cache without managed fields": newFixtureWithoutManagedFields,
}

// newFixtureWithoutManagedFields has an operator with a manager's client whose cache strips managed
// fields.
func newFixtureWithoutManagedFields(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOf(t, runtimecluster.Options{
		Client: client.Options{Cache: cluster.ReadYourWrites()},
		Cache:  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
}

// newFixtureOf has an operator with a manager's client of these options, to which it adds the scheme.
func newFixtureOf(t *testing.T, options runtimecluster.Options) *fixture {
	t.Helper()
	agent := "operator of " + t.Name()
	scheme, err := program.Scheme()
	require.NoError(t, err)
	options.Scheme = scheme
	running := cluster.Cached(t, program.Config(shared, agent), options)
	return newFixtureWith(t, agent, running.GetClient(), running.GetAPIReader())
}

// controlledByOwner makes the owner the controller of obj, as other programs do, too.
func (f *fixture) controlledByOwner(obj client.Object) client.Object {
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(f.owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
	return obj
}

// TestPruneDeletesOnlyItsOwn: of all that has something of the owner or of the operator.
func TestPruneDeletesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	for name, open := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			f.mustSet(f.configs("kept", "dropped", "orphan", "copied-from"))
			spared := []client.Object{f.config("kept", ""), f.config("orphan", "")}

			orphan := f.find(f.config("orphan", ""))
			orphan.SetOwnerReferences(nil)
			require.NoError(t, f.admin.Update(f.ctx, orphan))

			spared = append(spared, f.ofPreviousOwner())

			_, err := ensure.Set(f.ctx, ensure.New(f.client, f.reader, "neighbour"), f.owner, f.configs("of-another-operator"))
			require.NoError(t, err)
			spared = append(spared, f.config("of-another-operator", ""))

			handmade := f.controlledByOwner(f.config("handmade", "made"))
			require.NoError(t, f.admin.Create(f.ctx, handmade))
			spared = append(spared, handmade)

			copied := f.controlledByOwner(f.config("copied", "made"))
			copied.SetAnnotations(f.find(f.config("copied-from", "")).GetAnnotations())
			require.Contains(t, copied.GetAnnotations(), digestAnnotation)
			require.NoError(t, f.admin.Create(f.ctx, copied))
			spared = append(spared, copied)

			before := f.findAll(spared)
			for _, obj := range append(spared, f.config("dropped", ""), f.config("copied-from", "")) {
				f.awaitCached(obj)
			}
			f.restart()
			for _, want := range [][]string{{"Deleting copied-from", "Deleting dropped"}, nil, nil} {
				found := pruned(f.mustSet(f.configs("kept"), ensure.Prune(&corev1.ConfigMap{})))
				slices.Sort(found) // within a second they go by name
				require.Empty(t, cmp.Diff(want, found))
				f.awaitCached(f.config("dropped", ""))
				f.awaitCached(f.config("copied-from", ""))
			}
			require.Empty(t, cmp.Diff(before, f.findAll(spared)))
		})
	}
}

func (f *fixture) findAll(objs []client.Object) []client.Object {
	f.t.Helper()
	var found []client.Object
	for _, obj := range objs {
		found = append(found, f.find(obj))
	}
	return found
}

// ofPreviousOwner creates a child of an earlier owner of the same name that the garbage collector
// has not removed yet.
func (f *fixture) ofPreviousOwner() client.Object {
	f.t.Helper()
	previous := f.newOwner("previous")
	_, err := ensure.Set(f.ctx, f.ensurer, previous, f.configs("left-over"))
	require.NoError(f.t, err)
	leftOver := f.config("left-over", "")
	f.hold(leftOver)
	require.NoError(f.t, f.admin.Delete(f.ctx, previous))
	f.await("the garbage collector", func() bool { return !f.exists(leftOver) })
	return leftOver
}

// TestPruneSecondOwner: an owner does not delete the children of an earlier owner of the same name,
// nor the objects that the earlier owner left behind on purpose.
func TestPruneSecondOwner(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	f.mustSet(f.configs("a", "b"))
	first := f.owner.GetUID()
	require.NoError(t, f.admin.Delete(f.ctx, f.owner, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	f.await("the first owner to be gone", func() bool { return f.find(f.owner) == nil })
	f.owner = f.newOwner("owner")
	require.NotEqual(t, first, f.owner.GetUID())
	f.awaitCached(f.config("a", ""))
	f.awaitCached(f.config("b", ""))

	results := f.mustSet(f.configs("a"), ensure.Prune(&corev1.ConfigMap{}))
	require.Equal(t, ensure.Updated, results.Children[0].Operation, "ours, and nobody's since")
	require.Empty(t, results.Pruned)
	require.True(t, f.exists(f.config("b", "")))
	results = f.mustSet(nil, ensure.Prune(&corev1.ConfigMap{}))
	require.Empty(t, cmp.Diff([]string{"Deleting a"}, pruned(results)))
}

// TestPruneReplicaSets: they carry the annotations of their Deployment, the digest as well.
func TestPruneReplicaSets(t *testing.T) {
	t.Parallel()
	for name, open := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			f.mustEnsure(ensure.Created, f.deployment(1))
			owner := f.settled(f.deployment(1), isReady)
			children := f.list(&appsv1.ReplicaSetList{})
			require.Len(t, children, 1)
			require.Contains(t, children[0].GetAnnotations(), digestAnnotation)
			require.True(t, metav1.IsControlledBy(children[0], owner))
			f.awaitCached(children[0])
			for range 2 {
				results, err := ensure.Set(f.ctx, f.ensurer, owner, nil, ensure.Prune(&appsv1.ReplicaSet{}))
				require.NoError(t, err)
				require.Empty(t, results.Pruned)
			}
			require.True(t, f.exists(children[0]))
		})
	}
}

// TestPruneAcrossNamespaces: only an owner that is in none has children in several.
func TestPruneAcrossNamespaces(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	other := shared.Namespace(t)
	owner := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	require.NoError(t, f.admin.Create(f.ctx, owner))
	t.Cleanup(func() { require.NoError(t, f.admin.Delete(context.Background(), owner)) })
	there := func(name string) client.Object {
		obj := f.config(name, "made")
		obj.Namespace = other
		return obj
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-child"}}
	prune := ensure.Prune(&corev1.ConfigMap{}, &rbacv1.ClusterRole{})
	all := []client.Object{f.config("a", "made"), f.config("b", "made"), there("a"), there("b"), role}
	_, err := ensure.Set(f.ctx, f.ensurer, owner, all, prune)
	require.NoError(t, err)
	f.mustSet(f.configs("of-a-namespaced-owner"))

	results, err := ensure.Set(f.ctx, f.ensurer, owner, []client.Object{f.config("a", "made"), there("b")}, prune)
	require.NoError(t, err)
	var found []string
	for _, result := range results.Pruned {
		found = append(found, result.Live.GetNamespace()+"/"+result.Live.GetName())
	}
	slices.Sort(found)
	want := []string{"/" + role.Name, f.namespace + "/b", other + "/a"}
	slices.Sort(want)
	require.Empty(t, cmp.Diff(want, found))
	require.True(t, f.exists(f.config("a", "")))
	require.True(t, f.exists(f.config("of-a-namespaced-owner", "")))

	_, err = f.set(nil, ensure.Prune(&rbacv1.ClusterRole{}))
	require.ErrorIs(t, err, ensure.ErrRefused, "a namespaced owner has no such children")
}

// staleClient is a client whose lists are of the past.
type staleClient struct {
	client.Client
	past []client.Object
}

func (s *staleClient) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
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
	f := newFixture(t)
	names := []string{"edited", "deleted", "going", "replaced", "taken", "let-go"}
	f.mustSet(f.configs(names...))
	s := &staleClient{Client: f.client}
	for _, name := range names {
		s.past = append(s.past, f.find(f.config(name, "")))
	}
	f.client = s
	f.restart()

	edited := f.find(f.config("edited", ""))
	edited.SetLabels(map[string]string{"edited": "yes"})
	require.NoError(t, f.admin.Update(f.ctx, edited))
	require.NoError(t, f.admin.Delete(f.ctx, f.config("deleted", "")))
	f.client = s.Client // hold waits for what the operator sees
	f.hold(f.config("going", ""))
	require.NoError(t, f.admin.Delete(f.ctx, f.config("going", "")))
	require.NoError(t, f.admin.Delete(f.ctx, f.config("replaced", "")))
	require.NoError(t, f.admin.Create(f.ctx, f.controlledByOwner(f.config("replaced", "theirs"))))
	taken := f.find(f.config("taken", ""))
	taken.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(f.newOwner("another"), corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
	require.NoError(t, f.admin.Update(f.ctx, taken))
	letGo := f.find(f.config("let-go", ""))
	letGo.SetOwnerReferences(nil)
	require.NoError(t, f.admin.Update(f.ctx, letGo))

	mark := shared.Mark()
	results := f.mustSet(nil, ensure.Prune(&corev1.ConfigMap{}))
	found := pruned(results)
	slices.Sort(found)
	require.Empty(t, cmp.Diff([]string{"Deleting edited", "Deleting going", "Gone deleted"}, found))
	require.Empty(t, cmp.Diff(map[string]int{"delete configmaps": 7, "get configmaps": 6}, f.requestCounts(mark)))
	for _, name := range []string{"replaced", "taken", "let-go"} {
		require.True(t, f.exists(f.config(name, "")), name)
	}
	require.Nil(t, f.find(f.config("edited", "")))
}

// TestPruneWaitsForFinalizers: waiting for the finalizers of other programs costs no requests.
func TestPruneWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	for name, open := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			prune := ensure.Prune(&corev1.ConfigMap{})
			f.mustSet(f.configs("kept", "held"), prune)
			f.hold(f.config("held", ""))
			require.Empty(t, cmp.Diff([]string{"Deleting held"}, pruned(f.mustSet(f.configs("kept"), prune))))
			f.awaitCached(f.config("held", ""))
			mark := shared.Mark()
			for range 5 {
				require.Empty(t, cmp.Diff([]string{"Deleting held"}, pruned(f.mustSet(f.configs("kept"), prune))))
			}
			require.Zero(t, f.requestCounts(mark)["delete configmaps"])
			if name != "plain client" {
				require.Empty(t, f.requestCounts(mark))
			}
			f.release(f.config("held", ""))
			require.Empty(t, pruned(f.mustSet(f.configs("kept"), prune)))
		})
	}
}

// TestPruneAfterRestart: another process with another cache recognises the operator's children.
func TestPruneAfterRestart(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	f.mustSet(f.configs("kept", "dropped"))
	agent := f.userAgent + ", again"
	again := program.Cached(t, shared, agent)
	f.userAgent, f.client, f.reader = agent, again.GetClient(), again.GetAPIReader()
	f.restart()
	mark := shared.Mark()
	results := f.mustSet(f.configs("kept"), ensure.Prune(&corev1.ConfigMap{}))
	require.Empty(t, cmp.Diff([]string{"Deleting dropped"}, pruned(results)))
	require.Empty(t, cmp.Diff(map[string]int{"get configmaps": 1, "delete configmaps": 1}, f.requestCounts(mark)))
}

// TestPruneOrder: the newest child is deleted first.
func TestPruneOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := func(name string) client.Object { return &corev1.Secret{ObjectMeta: f.objectMeta(name)} }
	f.mustSet([]client.Object{f.config("z", "made"), secret("z")})
	f.await("another second", func() bool { // times are in whole seconds
		probe := f.config("probe", "made")
		require.NoError(t, f.admin.Create(f.ctx, probe, client.DryRunAll))
		before := f.find(secret("z")).GetCreationTimestamp()
		return before.Before(&probe.CreationTimestamp)
	})
	f.mustSet([]client.Object{f.config("a", "made"), secret("a")})

	mark := shared.Mark()
	results := f.mustSet(nil, ensure.Prune(&corev1.ConfigMap{}, &corev1.Secret{}))
	require.Empty(t, cmp.Diff([]string{"Deleting a", "Deleting z", "Deleting a", "Deleting z"}, pruned(results)))
	var order []string
	for _, r := range program.Requests(t, shared, mark, f.userAgent) {
		order = append(order, strings.TrimSpace(r.String()+" "+r.Name))
	}
	require.Empty(t, cmp.Diff([]string{"get configmaps owner", "delete secrets a", "delete secrets z", "delete configmaps a", "delete configmaps z"}, order))
}

// TestPrunePropagation: dependents are deleted or stay, as the propagation policy demands.
func TestPrunePropagation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy metav1.DeletionPropagation
		stays  bool
	}{
		"by default": {"", false},
		"foreground": {metav1.DeletePropagationForeground, false},
		"orphan":     {metav1.DeletePropagationOrphan, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCachedFixture(t)
			f.mustSet([]client.Object{f.deployment(1)})
			f.settled(f.deployment(1), isReady)
			prune := ensure.Prune(&appsv1.Deployment{}).Propagation(tc.policy)
			require.Empty(t, cmp.Diff([]string{"Deleting web"}, pruned(f.mustSet(nil, prune))))
			f.await("the Deployment to be gone", func() bool { return len(f.mustSet(nil, prune).Pruned) == 0 })
			require.Nil(t, f.find(f.deployment(1)))
			if tc.stays {
				require.Len(t, f.list(&appsv1.ReplicaSetList{}), 1)
				return
			}
			f.await("its ReplicaSet to be gone", func() bool { return len(f.list(&appsv1.ReplicaSetList{})) == 0 })
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
			f := newFixture(t)
			f.mustSet(f.configs("dropped"))
			f.serviceAccount(tc.verbs...)
			results, err := f.set(f.configs("kept"), ensure.Prune(&corev1.ConfigMap{}))
			require.ErrorIs(t, err, ensure.ErrAPI)
			require.True(t, apierrors.IsForbidden(err))
			var e *ensure.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.operation, e.Operation)
			require.Equal(t, tc.object, e.Key.Name)
			require.Contains(t, err.Error(), tc.object)
			require.ErrorContains(t, err, "cannot "+tc.operation+` resource "configmaps"`)
			require.Empty(t, cmp.Diff([]ensure.Operation{ensure.Created}, operations(results.Children)), "the children are done")
			require.True(t, f.exists(f.config("dropped", "")))
		})
	}
}
