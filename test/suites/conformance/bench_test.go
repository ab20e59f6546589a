package conformance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	fieldOwner       = "conformance"
	digestAnnotation = "spec-hash.trueup-go.github.io/" + fieldOwner
)

// benchLimit turns a hanging request into a failure that names the request. awaitLimit bounds waits
// for events that usually take seconds.
const (
	benchLimit = 4 * time.Minute
	awaitLimit = 2 * time.Minute
)

// A bench is one kind in its own namespace, with an operator that ensures an object of the kind and
// a person who changes this object.
type bench struct {
	subject
	t         *testing.T
	ctx       context.Context
	access    access // the operator's
	human     client.Client
	ensurer   *ensure.Ensurer
	namespace string // the test's
	home      string // the child's: likewise, or none
	resource  string // the child's kind, as requests name it
	owner     client.Object
	stranger  client.Object
}

func newBench(t *testing.T, a access, s subject) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), benchLimit)
	t.Cleanup(cancel)
	b := &bench{subject: s, t: t, ctx: ctx, access: a, human: human, namespace: shared.Namespace(t)}
	b.home = b.namespace
	if s.rename != nil {
		b.home = ""
		b.desired = func() client.Object {
			obj := s.desired()
			s.rename(obj, b.namespace)
			return obj
		}
	}
	b.resource = b.resourceOf(b.desired())
	b.owner, b.stranger = b.parent("owner"), b.parent("stranger")
	b.restart()
	t.Cleanup(b.clear)
	return b
}

func (b *bench) resourceOf(obj client.Object) string {
	b.t.Helper()
	gvk, err := apiutil.GVKForObject(obj, scheme)
	require.NoError(b.t, err)
	mapping, err := b.human.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	require.NoError(b.t, err)
	return mapping.Resource.Resource
}

// parent creates an owner: a namespaced owner cannot own cluster-scoped objects.
func (b *bench) parent(name string) client.Object {
	b.t.Helper()
	var parent client.Object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}}
	if b.home == "" {
		parent = &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: b.namespace + "-" + name}}
		b.t.Cleanup(func() { require.NoError(b.t, b.human.Delete(context.Background(), parent)) })
	}
	require.NoError(b.t, b.human.Create(b.ctx, parent))
	return parent
}

func controlledBy(t *testing.T, owner client.Object) []metav1.OwnerReference {
	t.Helper()
	gvk, err := apiutil.GVKForObject(owner, scheme)
	require.NoError(t, err)
	return []metav1.OwnerReference{{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true),
	}}
}

// createStrangers makes, in the child's place, an object that somebody else wants.
func (b *bench) createStrangers(owners ...metav1.OwnerReference) {
	b.t.Helper()
	obj := b.desired()
	obj.SetNamespace(b.home)
	obj.SetOwnerReferences(owners)
	require.NoError(b.t, b.human.Create(b.ctx, obj))
}

// restart makes the operator forget everything.
func (b *bench) restart() {
	b.ensurer = ensure.New(b.access.client, b.access.reader, fieldOwner)
}

func (b *bench) ensure() (ensure.Result[client.Object], error) {
	return ensure.Object(b.ctx, b.ensurer, b.desired(), ensure.ControlledBy(b.owner))
}

// pass reconciles once and returns the requests that the API server received.
func (b *bench) pass() (ensure.Result[client.Object], []cluster.Request) {
	b.t.Helper()
	res, requests, err := b.try()
	require.NoError(b.t, err)
	return res, requests
}

// try is a pass that may fail.
func (b *bench) try() (ensure.Result[client.Object], []cluster.Request, error) {
	b.t.Helper()
	if b.home == "" {
		lock := b.turn("pass")
		lock.Lock()
		defer lock.Unlock()
	}
	mark := shared.Mark()
	res, err := b.ensure()
	return res, b.requests(mark), err
}

// turns has benches of one client and kind go one after another if the kind is in no
// namespace: a dry run, which has no name, could be of any of them.
var turns sync.Map

func (b *bench) turn(of string) *sync.Mutex {
	lock, _ := turns.LoadOrStore(of+" "+b.access.agent+" "+b.resource, &sync.Mutex{})
	return lock.(*sync.Mutex)
}

// requests returns the requests about the child since mark. Names of cluster-scoped objects are
// unique to a test.
func (b *bench) requests(mark cluster.Mark) []cluster.Request {
	b.t.Helper()
	return b.access.requests(b.t, mark, func(r cluster.Request) bool {
		if b.home == "" {
			return r.Name == b.desired().GetName() || r.DryRun && r.Resource == b.resource
		}
		return r.Namespace == b.home
	})
}

// settle reconciles until the built-in controllers are done and nothing is left to
// ask the server about. Until then each of their changes may cost one question.
func (b *bench) settle() {
	b.t.Helper()
	b.awaitWritten(b.live())
	b.awaitNoError("it to settle", func() error {
		res, requests := b.pass()
		b.requireOperation(res, ensure.Unchanged, "", "while it settles")
		b.requireAtMostOne(requests, "while it settles")
		done := b.settled == nil || b.settled(res.Live)
		if !done || res.Stale || writes(requests) != 0 {
			return fmt.Errorf("the last pass made %v", requests)
		}
		return nil
	})
}

// awaitControllers waits, without a pass, until the built-in controllers are done and the
// operator's cache shows the result.
func (b *bench) awaitControllers() {
	b.t.Helper()
	if b.settled != nil {
		b.await("the controllers", func() bool { return b.settled(b.live()) })
	}
	b.awaitCached(b.live())
}

func (b *bench) requireFiveFreePasses(when string) {
	b.t.Helper()
	b.settle()
	for range 5 {
		b.requireFreePass(when)
	}
}

func (b *bench) requireFreePass(when string) {
	b.t.Helper()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Unchanged, "", when)
	b.requireWrites(requests, 0, when)
	b.shows(free)
}

// requireRefusal expects an error of class, no write, and no more than so many reads
// of the server beside the one that begins the pass.
func (b *bench) requireRefusal(class error, reads int) {
	b.t.Helper()
	b.awaitCached(b.live())
	_, requests, err := b.try()
	require.ErrorIs(b.t, err, class)
	b.requireRequests(requests, 0, reads)
}

func (b *bench) requireOperation(res ensure.Result[client.Object], want ensure.Operation, cause ensure.Cause, about ...any) {
	b.t.Helper()
	require.Equal(b.t, want, res.Operation, "%v: %s, changed %v", about, res.Cause, res.Changes)
	require.Equal(b.t, cause, res.Cause, about...)
}

// requireWrites requires a number of writes in a pass, and no read except the first.
func (b *bench) requireWrites(requests []cluster.Request, want int, about ...any) {
	b.t.Helper()
	b.requireRequests(requests, want, 0, about...)
}

func (b *bench) requireAtMostOne(requests []cluster.Request, about ...any) {
	b.t.Helper()
	b.requireRequests(requests, min(writes(requests), 1), 0, about...)
}

// requireRequests expects exactly so many writes, and so many reads beside the one
// that begins a pass: only a client without a cache lets the server see that.
func (b *bench) requireRequests(requests []cluster.Request, wantWrites, wantReads int, about ...any) {
	b.t.Helper()
	require.Equal(b.t, wantWrites, writes(requests), "writes, %v: the server saw %v", about, requests)
	require.Equal(b.t, b.access.reads+wantReads, len(requests)-writes(requests), "reads, %v: the server saw %v", about, requests)
}

// writes counts everything that is not a read, dry runs included.
func writes(requests []cluster.Request) int {
	n := 0
	for _, r := range requests {
		if r.Verb != "get" {
			n++
		}
	}
	return n
}

// live returns the live object.
func (b *bench) live() client.Object {
	b.t.Helper()
	obj := b.empty()
	require.NoError(b.t, b.human.Get(b.ctx, client.ObjectKeyFromObject(obj), obj))
	return obj
}

func (b *bench) empty() client.Object {
	desired := b.desired()
	gvk, err := apiutil.GVKForObject(desired, scheme)
	require.NoError(b.t, err)
	var obj client.Object
	if _, ok := desired.(*unstructured.Unstructured); ok {
		obj = &unstructured.Unstructured{}
	} else {
		fresh, err := scheme.New(gvk)
		require.NoError(b.t, err)
		obj = fresh.(client.Object)
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	obj.SetNamespace(b.home)
	obj.SetName(desired.GetName())
	return obj
}

// edit changes the live object as kubectl edit would, waits until the operator's cache shows the
// change, and returns the object.
func (b *bench) edit(change edit) client.Object {
	b.t.Helper()
	before := b.live()
	after := before.DeepCopyObject().(client.Object)
	change.do(after)
	patch := client.MergeFrom(before)
	require.NoError(b.t, b.human.Patch(b.ctx, after, patch, client.FieldOwner("kubectl-edit")), change.name)
	b.awaitCached(after)
	return after
}

// awaitCached waits until the operator's client shows obj or a later version.
func (b *bench) awaitCached(obj client.Object) {
	b.t.Helper()
	b.await("the cache to show the object", func() bool {
		seen := b.empty()
		err := b.access.client.Get(b.ctx, client.ObjectKeyFromObject(obj), seen, client.DisableReadYourWritesConsistency)
		return err == nil && atLeast(seen.GetResourceVersion(), obj.GetResourceVersion())
	})
}

// awaitWritten waits until the operator's client shows obj, which the operator wrote. The test does
// not wait where the client itself waits for its own writes, which the client does not for
// unstructured objects.
func (b *bench) awaitWritten(obj client.Object) {
	b.t.Helper()
	if _, ok := obj.(*unstructured.Unstructured); ok || !b.access.readsItsWrites {
		b.awaitCached(obj)
	}
}

// delete removes the object for good and waits until the operator can see that.
func (b *bench) delete() {
	b.t.Helper()
	b.dropFinalizers()
	require.NoError(b.t, client.IgnoreNotFound(b.human.Delete(b.ctx, b.empty(), client.PropagationPolicy(metav1.DeletePropagationBackground))))
	b.await("the object to be gone", func() bool {
		err := b.access.client.Get(b.ctx, client.ObjectKeyFromObject(b.empty()), b.empty(), client.DisableReadYourWritesConsistency)
		return apierrors.IsNotFound(err)
	})
}

func (b *bench) dropFinalizers() {
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	err := b.human.Patch(context.Background(), b.empty(), client.RawPatch("application/merge-patch+json", patch))
	require.NoError(b.t, client.IgnoreNotFound(err))
}

// clear deletes the child: with the namespace, or alone if the child is cluster-scoped.
func (b *bench) clear() {
	b.dropFinalizers()
	if b.home == "" {
		require.NoError(b.t, client.IgnoreNotFound(b.human.Delete(context.Background(), b.empty())))
	}
}

func (b *bench) await(what string, done func() bool) {
	b.t.Helper()
	b.awaitNoError(what, func() error {
		if !done() {
			return errors.New("not yet")
		}
		return nil
	})
}

// awaitNoError is like await for functions that return the missing condition as an error.
func (b *bench) awaitNoError(what string, done func() error) {
	b.t.Helper()
	try := func(context.Context) error { return done() }
	if b.access.agent == "" { // a fake client, which nobody else writes to
		require.NoError(b.t, await.Until(b.ctx, awaitLimit, try), "waited in vain for "+what)
		return
	}
	require.NoError(b.t, shared.Await(b.ctx, awaitLimit, b.namespace, try), "waited in vain for "+what)
}

// requireSame compares two objects except for the server's own fields.
func (b *bench) requireSame(want, got client.Object, about ...any) {
	b.t.Helper()
	require.Empty(b.t, gocmp.Diff(essence(b.t, want), essence(b.t, got)), about...)
}

func essence(t *testing.T, obj client.Object) map[string]any {
	t.Helper()
	if template := podTemplateOf(obj); template != nil {
		// Our containers are in our order. The server's merge may place a foreign container
		// anywhere among them.
		obj = obj.DeepCopyObject().(client.Object)
		slices.SortStableFunc(podTemplateOf(obj).Spec.Containers, func(a, b corev1.Container) int {
			return cmp.Compare(strings.Count(a.Name, "sidecar"), strings.Count(b.Name, "sidecar"))
		})
	}
	data, err := json.Marshal(obj)
	require.NoError(t, err)
	var content map[string]any
	require.NoError(t, json.Unmarshal(data, &content))
	delete(content, "status")
	for _, member := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(content, "metadata", member)
	}
	// The Deployment and the DaemonSet controller count rollouts here.
	for _, count := range []string{appsv1.DeprecatedTemplateGeneration, "deployment.kubernetes.io/revision"} {
		unstructured.RemoveNestedField(content, "metadata", "annotations", count)
	}
	return content
}

// commonAdditions are permitted additions of other programs to any object.
var commonAdditions = []edit{
	{"a label", func(obj client.Object) { obj.SetLabels(with(obj.GetLabels(), theirs, "kept")) }},
	{"an annotation", func(obj client.Object) { obj.SetAnnotations(with(obj.GetAnnotations(), theirs, "kept")) }},
	foreignFinalizer,
}

var foreignFinalizer = edit{"a finalizer", func(obj client.Object) {
	obj.SetFinalizers(append(obj.GetFinalizers(), "theirs.example.com/finalizer"))
}}

// commonEdits are changes of a person to any object of ours.
var commonEdits = []edit{
	{"an edited label", func(obj client.Object) { obj.SetLabels(with(obj.GetLabels(), ours, "edited")) }},
	{"a removed annotation", func(obj client.Object) { obj.SetAnnotations(with(obj.GetAnnotations(), ours, "")) }},
	{"no owner", func(obj client.Object) { obj.SetOwnerReferences(nil) }},
	{noDigest, func(obj client.Object) {
		obj.SetAnnotations(with(obj.GetAnnotations(), digestAnnotation, ""))
	}},
}

// with returns m with key set to value, or without key if value is empty.
func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	if value == "" {
		delete(out, key)
	}
	return out
}
