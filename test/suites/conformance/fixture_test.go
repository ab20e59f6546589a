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
	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/internal/testclock"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/offset"
)

const (
	fieldOwner       = "conformance"
	digestAnnotation = "spec-hash.trueup-go.github.io/" + fieldOwner
)

// testTimeout turns a hanging request into a failure that names the request. awaitLimit bounds waits
// for events that usually take seconds. What ends a CustomResourceDefinition in the API server backs off for minutes after errors.
const (
	testTimeout = 8 * time.Minute
	awaitLimit  = 6 * time.Minute
)

// A fixture is one kind in its own namespace, with an operator that ensures an object of the kind and
// an admin who changes this object.
type fixture struct {
	kindCase
	t              *testing.T
	ctx            context.Context
	access         access // the operator's
	admin          client.Client
	ensurer        *ensure.Ensurer
	isFresh        bool          // the ensurer has not written yet
	clock          *offset.Clock // the operator's
	namespace      string        // the test's
	childNamespace string        // the child's: likewise, or none
	resource       string        // the child's kind, as requests name it
	owner          client.Object
	otherOwner     client.Object
}

func newFixture(t *testing.T, a access, k kindCase) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	f := &fixture{kindCase: k, t: t, ctx: ctx, access: a, admin: admin, clock: &offset.Clock{}, namespace: shared.Namespace(t)}
	f.childNamespace = f.namespace
	if k.rename != nil {
		f.childNamespace = ""
		f.desired = func() client.Object {
			obj := k.desired()
			k.rename(obj, f.namespace)
			return obj
		}
	}
	f.resource = f.resourceOf(f.desired())
	f.owner, f.otherOwner = f.parent("owner"), f.parent("stranger")
	f.restart()
	t.Cleanup(f.clear)
	return f
}

func (f *fixture) resourceOf(obj client.Object) string {
	f.t.Helper()
	gvk, err := apiutil.GVKForObject(obj, scheme)
	require.NoError(f.t, err)
	mapping, err := f.admin.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	requireServed(f.t, f.name, err)
	return mapping.Resource.Resource
}

// parent creates an owner: a namespaced owner cannot own cluster-scoped objects.
func (f *fixture) parent(name string) client.Object {
	f.t.Helper()
	var parent client.Object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	if f.childNamespace == "" {
		parent = &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-" + name}}
		f.t.Cleanup(func() { require.NoError(f.t, f.admin.Delete(context.Background(), parent)) })
	}
	require.NoError(f.t, f.admin.Create(f.ctx, parent))
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

// createForeign makes, in the child's place, an object that somebody else wants.
func (f *fixture) createForeign(owners ...metav1.OwnerReference) {
	f.t.Helper()
	obj := f.desired()
	obj.SetNamespace(f.childNamespace)
	obj.SetOwnerReferences(owners)
	require.NoError(f.t, f.admin.Create(f.ctx, obj))
}

// restart makes the operator forget everything.
func (f *fixture) restart() {
	f.isFresh = true
	f.ensurer = ensure.New(f.access.client, f.access.reader, fieldOwner, testclock.With[ensure.Setting](f.clock))
}

// editInterval is what the operator's clock shows between two edits: five of them within two minutes would be a contest.
const editInterval = 40 * time.Second

func (f *fixture) ensure() (ensure.Result[client.Object], error) {
	return ensure.Object(f.ctx, f.ensurer, f.desired(), ensure.ControlledBy(f.owner))
}

// pass reconciles once and returns the requests that the API server received.
func (f *fixture) pass() (ensure.Result[client.Object], []cluster.Request) {
	f.t.Helper()
	res, requests, err := f.try()
	require.NoError(f.t, err)
	return res, requests
}

// try is a pass that may fail.
func (f *fixture) try() (ensure.Result[client.Object], []cluster.Request, error) {
	f.t.Helper()
	if f.childNamespace == "" {
		lock := f.lock("pass")
		lock.Lock()
		defer lock.Unlock()
	}
	mark := shared.Mark()
	res, err := f.ensure()
	return res, f.requests(mark), err
}

// locks have fixtures of one client and kind go one after another if the kind is in no
// namespace: a dry run, which has no name, could be of any of them.
var locks sync.Map

func (f *fixture) lock(of string) *sync.Mutex {
	lock, _ := locks.LoadOrStore(of+" "+f.access.userAgent+" "+f.resource, &sync.Mutex{})
	return lock.(*sync.Mutex)
}

// requests returns the requests about the child since mark. Names of cluster-scoped objects are
// unique to a test.
func (f *fixture) requests(mark cluster.Mark) []cluster.Request {
	f.t.Helper()
	return f.access.requests(f.t, mark, func(r cluster.Request) bool {
		if f.childNamespace == "" {
			return r.Name == f.desired().GetName() || r.Name == f.owner.GetName() || r.DryRun && r.Resource == f.resource
		}
		return r.Namespace == f.childNamespace
	})
}

// settle reconciles until the built-in controllers are done and nothing is left to
// ask the server about. Until then each of their changes may cost one question.
func (f *fixture) settle() {
	f.t.Helper()
	f.awaitWritten(f.live())
	f.awaitNoError("it to settle", func() error {
		res, requests := f.pass()
		f.requireOperation(res, ensure.Unchanged, "", "while it settles")
		f.requireAtMostOne(requests, "while it settles")
		done := f.settled == nil || f.settled(res.Live)
		if !done || res.Stale || writes(requests) != 0 {
			return fmt.Errorf("the last pass made %v", requests)
		}
		return nil
	})
}

// awaitControllers waits, without a pass, until the built-in controllers are done and the
// operator's cache shows the result.
func (f *fixture) awaitControllers() {
	f.t.Helper()
	if f.settled != nil {
		f.await("the controllers", func() bool { return f.settled(f.live()) })
	}
	f.awaitCached(f.live())
}

func (f *fixture) requireFiveFreePasses(when string) {
	f.t.Helper()
	f.settle()
	for range 5 {
		f.requireFreePass(when)
	}
}

func (f *fixture) requireFreePass(when string) {
	f.t.Helper()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Unchanged, "", when)
	f.requireWrites(requests, 0, when)
	f.noteShown(free)
}

// requireRefusal expects an error of class, no write, and no more than so many reads
// of the server beside the one that begins the pass.
func (f *fixture) requireRefusal(class error, reads int) {
	f.t.Helper()
	f.awaitCached(f.live())
	_, requests, err := f.try()
	require.ErrorIs(f.t, err, class)
	f.requireRequests(requests, 0, reads)
}

func (f *fixture) requireOperation(res ensure.Result[client.Object], want ensure.Operation, cause ensure.Cause, about ...any) {
	f.t.Helper()
	require.Equal(f.t, want, res.Operation, "%v: %s, changed %v", about, res.Cause, res.Changes)
	require.Equal(f.t, cause, res.Cause, about...)
}

// requireWrites requires a number of writes in a pass, and no read except the first.
func (f *fixture) requireWrites(requests []cluster.Request, want int, about ...any) {
	f.t.Helper()
	f.requireRequests(requests, want, 0, about...)
}

func (f *fixture) requireAtMostOne(requests []cluster.Request, about ...any) {
	f.t.Helper()
	f.requireRequests(requests, min(writes(requests), 1), 0, about...)
}

// requireRequests expects exactly so many writes, and so many reads beside the one
// that begins a pass: only a client without a cache lets the server see that. A write may read the owner
// once more, to give the object to the owner, and the first one after a restart may read the object, if the cache does not show
// whose it is.
func (f *fixture) requireRequests(requests []cluster.Request, wantWrites, wantReads int, about ...any) {
	f.t.Helper()
	isOfOwner := func(r cluster.Request) bool { return r.Verb == "get" && r.Name == f.owner.GetName() }
	reads := len(requests) - writes(requests)
	if wantWrites > 0 && reads > f.access.reads+wantReads && slices.ContainsFunc(requests, isOfOwner) {
		wantReads++
	}
	if wantWrites > 0 && f.isFresh && f.access.withoutManagedFields && reads == f.access.reads+wantReads+1 {
		wantReads++
	}
	f.isFresh = f.isFresh && wantWrites == 0
	require.Equal(f.t, wantWrites, writes(requests), "writes, %v: the server saw %v", about, requests)
	require.Equal(f.t, f.access.reads+wantReads, reads, "reads, %v: the server saw %v", about, requests)
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
func (f *fixture) live() client.Object {
	f.t.Helper()
	obj := f.empty()
	require.NoError(f.t, f.admin.Get(f.ctx, client.ObjectKeyFromObject(obj), obj))
	return obj
}

func (f *fixture) empty() client.Object {
	desired := f.desired()
	gvk, err := apiutil.GVKForObject(desired, scheme)
	require.NoError(f.t, err)
	var obj client.Object
	if _, ok := desired.(*unstructured.Unstructured); ok {
		obj = &unstructured.Unstructured{}
	} else {
		fresh, err := scheme.New(gvk)
		require.NoError(f.t, err)
		obj = fresh.(client.Object)
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	obj.SetNamespace(f.childNamespace)
	obj.SetName(desired.GetName())
	return obj
}

// edit changes the live object as kubectl edit would, waits until the operator's cache shows the
// change, and returns the object.
func (f *fixture) edit(change edit) client.Object {
	f.t.Helper()
	f.clock.Advance(editInterval)
	before := f.live()
	after := before.DeepCopyObject().(client.Object)
	change.do(after)
	patch := client.MergeFrom(before)
	require.NoError(f.t, f.admin.Patch(f.ctx, after, patch, client.FieldOwner("kubectl-edit")), change.name)
	f.awaitCached(after)
	return after
}

// awaitCached waits until the operator's client shows obj or a later version.
func (f *fixture) awaitCached(obj client.Object) {
	f.t.Helper()
	f.await("the cache to show the object", func() bool {
		seen := f.empty()
		err := f.access.client.Get(f.ctx, client.ObjectKeyFromObject(obj), seen, consistency.Off)
		return err == nil && atLeast(seen.GetResourceVersion(), obj.GetResourceVersion())
	})
}

// awaitWritten waits until the operator's client shows obj, which the operator wrote. The test does
// not wait where the client itself waits for its own writes, which the client does not for
// unstructured objects.
func (f *fixture) awaitWritten(obj client.Object) {
	f.t.Helper()
	if _, ok := obj.(*unstructured.Unstructured); ok || !f.access.readsItsWrites {
		f.awaitCached(obj)
	}
}

// delete removes the object for good and waits until the operator can see that.
func (f *fixture) delete() {
	f.t.Helper()
	f.dropFinalizers()
	require.NoError(f.t, client.IgnoreNotFound(f.admin.Delete(f.ctx, f.empty(), client.PropagationPolicy(metav1.DeletePropagationBackground))))
	f.await("the object to be gone", func() bool {
		err := f.access.client.Get(f.ctx, client.ObjectKeyFromObject(f.empty()), f.empty(), consistency.Off)
		return apierrors.IsNotFound(err)
	})
}

func (f *fixture) dropFinalizers() {
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	err := f.admin.Patch(context.Background(), f.empty(), client.RawPatch("application/merge-patch+json", patch))
	require.NoError(f.t, client.IgnoreNotFound(err))
}

// clear deletes the child and what the built-in controllers made for it.
func (f *fixture) clear() {
	f.dropFinalizers()
	err := f.admin.Delete(context.Background(), f.empty(), client.PropagationPolicy(metav1.DeletePropagationBackground))
	require.NoError(f.t, client.IgnoreNotFound(err))
}

func (f *fixture) await(what string, done func() bool) {
	f.t.Helper()
	f.awaitNoError(what, func() error {
		if !done() {
			return errors.New("not yet")
		}
		return nil
	})
}

// awaitNoError is like await for functions that return the missing condition as an error.
func (f *fixture) awaitNoError(what string, done func() error) {
	f.t.Helper()
	try := func(context.Context) error { return done() }
	if f.access.userAgent == "" { // a fake client, which nobody else writes to
		require.NoError(f.t, await.Until(f.ctx, awaitLimit, try), "waited in vain for "+what)
		return
	}
	require.NoError(f.t, shared.Await(f.ctx, awaitLimit, f.namespace, try), "waited in vain for "+what)
}

// requireSame compares two objects except for the server's own fields.
func (f *fixture) requireSame(want, got client.Object, about ...any) {
	f.t.Helper()
	require.Empty(f.t, gocmp.Diff(essence(f.t, want), essence(f.t, got)), about...)
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

// commonEdits are changes of a user to any object of ours.
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
