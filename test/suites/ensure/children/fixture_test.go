package children_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// fieldOwner is the field owner of the operators.
const fieldOwner = "children-operator"

const digestAnnotation = "spec-hash.trueup-go.github.io/" + fieldOwner

// A fixture is a namespace with an operator, an owner object, and an admin client.
type fixture struct {
	t         *testing.T
	ctx       context.Context
	userAgent string
	client    client.Client
	reader    client.Reader
	admin     client.Client
	namespace string
	owner     *corev1.ConfigMap
	ensurer   *ensure.Ensurer
}

// newFixture has an operator without a cache.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	agent := "operator of " + t.Name()
	c := program.Client(t, shared, agent)
	return newFixtureWith(t, agent, c, c)
}

// newCachedFixture has an operator with a manager's client, which waits for its own writes in the
// cache.
func newCachedFixture(t *testing.T) *fixture {
	t.Helper()
	agent := "operator of " + t.Name()
	running := program.Cached(t, shared, agent)
	return newFixtureWith(t, agent, running.GetClient(), running.GetAPIReader())
}

func newFixtureWith(t *testing.T, agent string, c client.Client, reader client.Reader) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	t.Cleanup(cancel)
	f := &fixture{
		t: t, ctx: ctx, userAgent: agent, client: c, reader: reader,
		admin: program.Client(t, shared, "kubectl-edit"), namespace: shared.Namespace(t),
	}
	f.owner = f.newOwner("owner")
	f.restart()
	return f
}

func (f *fixture) newOwner(name string) *corev1.ConfigMap {
	f.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: f.objectMeta(name)}
	require.NoError(f.t, f.admin.Create(f.ctx, owner))
	return owner
}

func (f *fixture) objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name}
}

// restart makes the operator forget everything.
func (f *fixture) restart() { f.ensurer = ensure.New(f.client, f.reader, fieldOwner) }

// ensure ensures desired for the owner.
func (f *fixture) ensure(desired client.Object, opts ...ensure.Option) (ensure.Result[client.Object], error) {
	return ensure.Object(f.ctx, f.ensurer, desired, append(opts, ensure.ControlledBy(f.owner))...)
}

func (f *fixture) mustEnsure(want ensure.Operation, desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	f.t.Helper()
	res, err := f.ensure(desired, opts...)
	require.NoError(f.t, err)
	require.Equal(f.t, want, res.Operation, "%s, changed %v", res.Cause, res.Changes)
	return res
}

// eventually repeats a pass that may find the old object while it is being deleted.
func (f *fixture) eventually(desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	f.t.Helper()
	var res ensure.Result[client.Object]
	f.await("the old object to be gone", func() bool {
		var err error
		// The garbage collector may remove its finalizer at any moment, which causes a Conflict.
		if res, err = f.ensure(desired, opts...); err != nil && ensure.Reason(err) != "Conflict" {
			require.ErrorIs(f.t, err, ensure.ErrTerminating)
		}
		return err == nil
	})
	return res
}

// requestCounts are the requests of the operator since mark.
func (f *fixture) requestCounts(mark cluster.Mark) map[string]int {
	f.t.Helper()
	return cluster.Counts(program.Requests(f.t, shared, mark, f.userAgent))
}

// find reads the object that obj names into a copy; nil if there is none.
func (f *fixture) find(obj client.Object) client.Object {
	f.t.Helper()
	live := obj.DeepCopyObject().(client.Object)
	err := f.admin.Get(f.ctx, f.keyOf(obj), live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return live
}

func (f *fixture) keyOf(obj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: f.namespace, Name: obj.GetName()}
}

func (f *fixture) exists(obj client.Object) bool {
	f.t.Helper()
	live := f.find(obj)
	return live != nil && live.GetDeletionTimestamp() == nil
}

func (f *fixture) await(what string, done func() bool) {
	f.t.Helper()
	err := wait.PollUntilContextTimeout(f.ctx, tick, limit, true, func(context.Context) (bool, error) { return done(), nil })
	require.NoError(f.t, err, "waited in vain for "+what)
}

// awaitCached waits until the operator's cache has the live obj, or none if obj does not exist.
// Other programs may write to obj meanwhile.
func (f *fixture) awaitCached(obj client.Object) {
	f.t.Helper()
	f.await("the cache to show "+obj.GetName(), func() bool {
		live, seen := f.find(obj), obj.DeepCopyObject().(client.Object)
		err := f.client.Get(f.ctx, f.keyOf(obj), seen, consistency.Off)
		if live == nil {
			return apierrors.IsNotFound(err)
		}
		return err == nil && seen.GetResourceVersion() == live.GetResourceVersion()
	})
}

// settled waits until the object's controllers are done and the operator's cache shows the result.
func (f *fixture) settled(obj client.Object, done func(client.Object) bool) client.Object {
	f.t.Helper()
	var live client.Object
	f.await("the controllers", func() bool {
		live = f.find(obj)
		return live != nil && done(live)
	})
	f.awaitCached(obj)
	return live
}

// An interceptingClient calls a hook right before a request of the operator.
type interceptingClient struct {
	client.Client
	mu sync.Mutex

	beforePatch, beforeDelete func()
	beforeCreate              func() error
}

func (m *interceptingClient) hook(hook *func()) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *hook == nil {
		return func() {}
	}
	return *hook
}

func (m *interceptingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	m.hook(&m.beforePatch)()
	return m.Client.Patch(ctx, obj, patch, opts...)
}

func (m *interceptingClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	m.hook(&m.beforeDelete)()
	return m.Client.Delete(ctx, obj, opts...)
}

func (m *interceptingClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if m.beforeCreate != nil {
		if err := m.beforeCreate(); err != nil {
			return err
		}
	}
	return m.Client.Create(ctx, obj, opts...)
}

// intercept puts an interceptingClient between the operator and the server.
func (f *fixture) intercept() *interceptingClient {
	m := &interceptingClient{Client: f.client}
	f.client = m
	f.restart()
	return m
}

// frozen is a ConfigMap that cannot be changed.
func (f *fixture) frozen(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: f.objectMeta(name), Data: map[string]string{"key": value}, Immutable: new(true)}
}

// config is a ConfigMap that can be changed.
func (f *fixture) config(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: f.objectMeta(name), Data: map[string]string{"key": value}}
}

func pathsOf(changes []ensure.Change) []string {
	var paths []string
	for _, change := range changes {
		paths = append(paths, change.Path)
	}
	return paths
}

// list returns the objects of a kind in the namespace.
func (f *fixture) list(list client.ObjectList, opts ...client.ListOption) []client.Object {
	f.t.Helper()
	require.NoError(f.t, f.admin.List(f.ctx, list, append(opts, client.InNamespace(f.namespace))...))
	items, err := meta.ExtractList(list)
	require.NoError(f.t, err)
	var found []client.Object
	for _, item := range items {
		found = append(found, item.(client.Object))
	}
	return found
}
