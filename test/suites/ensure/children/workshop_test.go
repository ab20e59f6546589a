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
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// workshopOwner is the field owner of the operators in workshops.
const workshopOwner = "workshop"

const workshopDigest = "spec-hash.trueup-go.github.io/" + workshopOwner

// A workshop is a namespace with an operator, an owner object, and a person with every right.
type workshop struct {
	t         *testing.T
	ctx       context.Context
	agent     string
	client    client.Client
	reader    client.Reader
	human     client.Client
	namespace string
	owner     *corev1.ConfigMap
	ensurer   *ensure.Ensurer
}

// newWorkshop has an operator without a cache.
func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	agent := "operator of " + t.Name()
	c := program.Client(t, shared, agent)
	return workshopWith(t, agent, c, c)
}

// newCachedWorkshop has an operator with a manager's client, which waits for its own writes in the
// cache.
func newCachedWorkshop(t *testing.T) *workshop {
	t.Helper()
	agent := "operator of " + t.Name()
	running := program.Cached(t, shared, agent)
	return workshopWith(t, agent, running.GetClient(), running.GetAPIReader())
}

func workshopWith(t *testing.T, agent string, c client.Client, reader client.Reader) *workshop {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	t.Cleanup(cancel)
	w := &workshop{
		t: t, ctx: ctx, agent: agent, client: c, reader: reader,
		human: program.Client(t, shared, "person"), namespace: shared.Namespace(t),
	}
	w.owner = w.newOwner("owner")
	w.restart()
	return w
}

func (w *workshop) newOwner(name string) *corev1.ConfigMap {
	w.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: w.named(name)}
	require.NoError(w.t, w.human.Create(w.ctx, owner))
	return owner
}

func (w *workshop) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// restart makes the operator forget everything.
func (w *workshop) restart() { w.ensurer = ensure.New(w.client, w.reader, workshopOwner) }

// object ensures desired for the owner.
func (w *workshop) object(desired client.Object, opts ...ensure.Option) (ensure.Result[client.Object], error) {
	return ensure.Object(w.ctx, w.ensurer, desired, append(opts, ensure.ControlledBy(w.owner))...)
}

func (w *workshop) mustBe(want ensure.Operation, desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	w.t.Helper()
	res, err := w.object(desired, opts...)
	require.NoError(w.t, err)
	require.Equal(w.t, want, res.Operation, "%s, changed %v", res.Cause, res.Changes)
	return res
}

// eventually repeats a pass that may find the old object while it is being deleted.
func (w *workshop) eventually(desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	w.t.Helper()
	var res ensure.Result[client.Object]
	w.await("the old object to be gone", func() bool {
		var err error
		// The garbage collector may remove its finalizer at any moment, which causes a Conflict.
		if res, err = w.object(desired, opts...); err != nil && ensure.Reason(err) != "Conflict" {
			require.ErrorIs(w.t, err, ensure.ErrTerminating)
		}
		return err == nil
	})
	return res
}

// counts are the requests of the operator since mark.
func (w *workshop) counts(mark cluster.Mark) map[string]int {
	w.t.Helper()
	return cluster.Counts(program.Requests(w.t, shared, mark, w.agent))
}

// find reads the object that obj names into a copy; nil if there is none.
func (w *workshop) find(obj client.Object) client.Object {
	w.t.Helper()
	live := obj.DeepCopyObject().(client.Object)
	err := w.human.Get(w.ctx, w.keyOf(obj), live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	return live
}

func (w *workshop) keyOf(obj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: obj.GetName()}
}

func (w *workshop) exists(obj client.Object) bool {
	w.t.Helper()
	live := w.find(obj)
	return live != nil && live.GetDeletionTimestamp() == nil
}

func (w *workshop) await(what string, done func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.ctx, tick, limit, true, func(context.Context) (bool, error) { return done(), nil })
	require.NoError(w.t, err, "waited in vain for "+what)
}

// awaitCached waits until the operator's cache has the live obj, or none if obj does not exist.
// Other programs may write to obj meanwhile.
func (w *workshop) awaitCached(obj client.Object) {
	w.t.Helper()
	w.await("the cache to show "+obj.GetName(), func() bool {
		live, seen := w.find(obj), obj.DeepCopyObject().(client.Object)
		err := w.client.Get(w.ctx, w.keyOf(obj), seen, client.DisableReadYourWritesConsistency)
		if live == nil {
			return apierrors.IsNotFound(err)
		}
		return err == nil && seen.GetResourceVersion() == live.GetResourceVersion()
	})
}

// settled waits until the object's controllers are done and the operator's cache shows the result.
func (w *workshop) settled(obj client.Object, done func(client.Object) bool) client.Object {
	w.t.Helper()
	var live client.Object
	w.await("the controllers", func() bool {
		live = w.find(obj)
		return live != nil && done(live)
	})
	w.awaitCached(obj)
	return live
}

// meddling does something right before a request of the operator.
type meddling struct {
	client.Client
	mu sync.Mutex

	beforePatch, beforeDelete func()
	beforeCreate              func() error
}

func (m *meddling) hook(hook *func()) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *hook == nil {
		return func() {}
	}
	return *hook
}

func (m *meddling) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	m.hook(&m.beforePatch)()
	return m.Client.Patch(ctx, obj, patch, opts...)
}

func (m *meddling) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	m.hook(&m.beforeDelete)()
	return m.Client.Delete(ctx, obj, opts...)
}

func (m *meddling) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if m.beforeCreate != nil {
		if err := m.beforeCreate(); err != nil {
			return err
		}
	}
	return m.Client.Create(ctx, obj, opts...)
}

// meddle puts a meddler between the operator and the server.
func (w *workshop) meddle() *meddling {
	m := &meddling{Client: w.client}
	w.client = m
	w.restart()
	return m
}

// frozen is a ConfigMap that cannot be changed.
func (w *workshop) frozen(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: w.named(name), Data: map[string]string{"key": value}, Immutable: new(true)}
}

// config is a ConfigMap that can be changed.
func (w *workshop) config(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: w.named(name), Data: map[string]string{"key": value}}
}

func pathsOf(changes []ensure.Change) []string {
	var paths []string
	for _, change := range changes {
		paths = append(paths, change.Path)
	}
	return paths
}

// list returns the objects of a kind in the namespace.
func (w *workshop) list(list client.ObjectList, opts ...client.ListOption) []client.Object {
	w.t.Helper()
	require.NoError(w.t, w.human.List(w.ctx, list, append(opts, client.InNamespace(w.namespace))...))
	items, err := meta.ExtractList(list)
	require.NoError(w.t, err)
	var found []client.Object
	for _, item := range items {
		found = append(found, item.(client.Object))
	}
	return found
}
