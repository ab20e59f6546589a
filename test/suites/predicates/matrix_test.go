package predicates_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// The changes of an object.
const (
	created       = "created"
	specChanged   = "spec"
	statusChanged = "status: a condition"
	heartbeat     = "heartbeat alone"
	resizing      = "status: resize begins (Resizing)"
	resizePending = "status: resize waits for the node (FileSystemResizePending)"
	resized       = "status: resize is done"
	label         = "label"
	annotation    = "annotation"
	ownerChanged  = "owner"
	managedFields = "managedFields alone"
	resync        = "resync"
	finalizer     = "finalizer"
	going         = "deletion requested, a finalizer holds it"
	gone          = "gone after that"
	deleted       = "deleted at once"
	missed        = "deleted while the watch was cut"
	replaced      = "deleted and made again while the watch was cut"
)

// wanted is the contract: the changes that wake a controller, for every kind.
var wanted = []struct {
	change         string
	primary, owned bool
}{
	{created, true, true},
	{specChanged, true, true},
	{statusChanged, false, true},
	{heartbeat, false, false},
	{resizing, false, true},
	{resizePending, false, true},
	{resized, false, true},
	{label, true, true},
	{annotation, true, true},
	{ownerChanged, true, true},
	{managedFields, false, false},
	{resync, false, false},
	{finalizer, true, true},
	{going, true, true},
	{gone, true, true},
	{deleted, true, true},
	{missed, true, true},
	{replaced, true, true},
}

// primaryWakes adds the one exception: a Lease's heartbeat is in its spec.
func primaryWakes(kind, change string, otherwise bool) bool {
	return otherwise || kind == "Lease" && change == heartbeat
}

// limit turns a missing event into a failure that names the event.
const limit = time.Minute

// A fixture is one kind with its watches: as the Go type (unstructured for custom kinds),
// unstructured, and metadata only.
type fixture struct {
	kind
	t         *testing.T
	ctx       context.Context
	namespace *corev1.Namespace
	network   *network
	recorders map[string]*eventRecorder
	seen      map[string]verdicts // of each change
}

const (
	asTyped        = "typed"
	asUnstructured = "unstructured"
	asMetadata     = "metadata only"
)

func TestEvents(t *testing.T) {
	require.NoError(t, prepare())
	var mu sync.Mutex
	results := map[string]map[string]verdicts{}
	t.Run("kinds", func(t *testing.T) {
		for _, k := range kinds() {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, k)
				f.run()
				f.requireContract()
				mu.Lock()
				defer mu.Unlock()
				results[k.name] = f.seen
			})
		}
	})
	if t.Failed() {
		return // a page of half the truth helps nobody
	}
	comparePage(t, results)
}

func newFixture(t *testing.T, k kind) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	f := &fixture{kind: k, t: t, ctx: ctx, network: newNetwork(), recorders: map[string]*eventRecorder{}, seen: map[string]verdicts{}}
	f.namespace = &corev1.Namespace{}
	require.NoError(t, admin.Get(ctx, client.ObjectKey{Name: shared.Namespace(t)}, f.namespace))
	f.watch()
	return f
}

func (f *fixture) watch() {
	config := rest.CopyConfig(shared.Config())
	config.Wrap(f.network.wrap)
	c, err := cache.New(config, cache.Options{
		Scheme: scheme, SyncPeriod: new(time.Second),
		DefaultWatchErrorHandler: func(context.Context, *toolscache.Reflector, error) {},
	})
	require.NoError(f.t, err)

	gvk, err := apiutil.GVKForObject(f.object(""), scheme)
	require.NoError(f.t, err)
	untyped, metadata := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	untyped.SetGroupVersionKind(gvk)
	metadata.SetGroupVersionKind(gvk)
	ctx, cancel := context.WithCancel(context.Background())
	var sources []source.SyncingSource
	for as, obj := range map[string]client.Object{asTyped: f.object(""), asUnstructured: untyped, asMetadata: metadata} {
		r, kind := watch(ctx, f.t, c, obj)
		f.recorders[as], sources = r, append(sources, kind)
	}
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		require.NoError(f.t, <-done)
	})
	for _, kind := range sources {
		require.NoError(f.t, kind.WaitForSync(f.ctx))
	}
}

// run makes the possible changes to one object after another.
func (f *fixture) run() {
	subject := f.create("subject")
	f.record(created, "subject", recordedEvent.isCreate)
	if f.bound {
		f.bind(subject)
	}
	f.patch(subject, specChanged, f.spec)
	f.patch(subject, statusChanged, f.status, f.statusOn...)
	on := f.statusOn
	f.patch(subject, heartbeat, f.heartbeat, on...)
	for _, step := range f.more {
		f.patch(subject, step[0], step[1], on...)
	}
	f.patch(subject, label, `{"metadata":{"labels":{"changed":"yes"}}}`)
	f.patch(subject, annotation, `{"metadata":{"annotations":{"changed":"yes"}}}`)
	f.patch(subject, ownerChanged, fmt.Sprintf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":%q,"uid":%q}]}}`, f.namespace.Name, f.namespace.UID))
	f.applySame(subject)
	f.record(resync, "subject", recordedEvent.isResync)
	f.patch(subject, finalizer, `{"metadata":{"finalizers":["example.com/held"]}}`)

	f.delete(subject)
	f.record(going, "subject", recordedEvent.isDeletionRequest)
	f.change(subject, types.MergePatchType, `{"metadata":{"finalizers":null}}`)
	f.record(gone, "subject", recordedEvent.isDelete)

	f.delete(f.create("passing"))
	f.record(deleted, "passing", recordedEvent.isDelete)
	f.missEvents()
}

func (f *fixture) missEvents() {
	lost, recreated := f.create("lost"), f.create("recreated")
	for _, r := range f.recorders {
		r.await(f.ctx, f.t, "lost", recordedEvent.isCreate)
		r.await(f.ctx, f.t, "recreated", recordedEvent.isCreate)
	}
	f.network.during(f.ctx, f.t, func() {
		f.delete(lost)
		f.delete(recreated)
		f.awaitGone(lost)
		f.awaitGone(recreated)
		recreated = f.create("recreated")
	})
	f.record(missed, "lost", func(s recordedEvent) bool { return s.isDelete() && s.missed })
	f.record(replaced, "recreated", recordedEvent.isReplacement)
	f.delete(recreated)
}

func (f *fixture) create(name string) client.Object {
	f.t.Helper()
	obj := f.object(name)
	if f.cluster {
		f.t.Cleanup(func() { require.NoError(f.t, client.IgnoreNotFound(admin.Delete(context.Background(), obj))) })
	} else {
		obj.SetNamespace(f.namespace.Name)
	}
	require.NoError(f.t, admin.Create(f.ctx, obj))
	return obj
}

func (f *fixture) delete(obj client.Object) {
	f.t.Helper()
	require.NoError(f.t, admin.Delete(f.ctx, obj, client.GracePeriodSeconds(0)))
}

func (f *fixture) awaitGone(obj client.Object) {
	f.t.Helper()
	obj = obj.DeepCopyObject().(client.Object)
	require.NoError(f.t, wait.PollUntilContextCancel(f.ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}))
}

// patch records the one event of a patch. As others may write the object in between, the event is
// identified by its resourceVersion.
func (f *fixture) patch(obj client.Object, change, patch string, subresource ...string) {
	f.t.Helper()
	if patch == "" {
		return
	}
	f.change(obj, f.patchType, patch, subresource...)
	f.record(change, obj.GetName(), func(s recordedEvent) bool { return s.is(obj.GetUID(), obj.GetResourceVersion()) })
}

// change patches the object and updates obj with the server's answer.
func (f *fixture) change(obj client.Object, patchType types.PatchType, patch string, subresource ...string) {
	f.t.Helper()
	raw := client.RawPatch(patchType, []byte(patch))
	if len(subresource) == 0 {
		require.NoError(f.t, admin.Patch(f.ctx, obj, raw))
		return
	}
	require.NoError(f.t, admin.SubResource(subresource[0]).Patch(f.ctx, obj, raw))
}

// applySame has somebody else apply a label that is there.
func (f *fixture) applySame(obj client.Object) {
	f.t.Helper()
	gvk, err := apiutil.GVKForObject(obj, scheme)
	require.NoError(f.t, err)
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"changed":"yes"}}}`,
		gvk.GroupVersion().String(), gvk.Kind, obj.GetName())
	require.NoError(f.t, admin.Patch(f.ctx, obj, client.RawPatch(types.ApplyPatchType, []byte(body)), client.FieldOwner("another")))
	f.record(managedFields, obj.GetName(), func(s recordedEvent) bool { return s.is(obj.GetUID(), obj.GetResourceVersion()) })
}

// bind makes a volume for the claim and waits until they are bound.
func (f *fixture) bind(obj client.Object) {
	f.t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: named(f.namespace.Name),
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: storageClass,
			Capacity:               corev1.ResourceList{"storage": resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
			ClaimRef:               &corev1.ObjectReference{Namespace: f.namespace.Name, Name: obj.GetName()},
		},
	}
	require.NoError(f.t, admin.Create(f.ctx, volume))
	f.t.Cleanup(func() { require.NoError(f.t, admin.Delete(context.Background(), volume)) })
	claim := obj.(*corev1.PersistentVolumeClaim)
	require.NoError(f.t, wait.PollUntilContextCancel(f.ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return claim.Status.Phase == corev1.ClaimBound, admin.Get(ctx, client.ObjectKeyFromObject(claim), claim)
	}))
}

// record waits for the event in every watch.
func (f *fixture) record(change, name string, is func(recordedEvent) bool) {
	f.t.Helper()
	typed := f.recorders[asTyped].await(f.ctx, f.t, name, is)
	untyped := f.recorders[asUnstructured].await(f.ctx, f.t, name, is)
	metadata := f.recorders[asMetadata].await(f.ctx, f.t, name, is)
	require.Empty(f.t, cmp.Diff(typed, untyped), "the representation makes a difference for %s", change)

	f.seen[change] = maps.Clone(typed)
	f.seen[change][primaryOfMetadata], f.seen[change][ownedOfMetadata] = metadata[primary], metadata[owned]
}

func (f *fixture) requireContract() {
	f.t.Helper()
	for _, want := range wanted {
		got, ok := f.seen[want.change]
		if !ok {
			continue
		}
		require.Equal(f.t, primaryWakes(f.name, want.change, want.primary), got[primary], "Primary, %s", want.change)
		require.Equal(f.t, want.owned, got[owned], "Owned, %s", want.change)
		if f.name == "PriorityClass" && want.change == specChanged {
			continue // its generation is there, and metadata show nothing else
		}
		for typed, metadata := range map[string]string{primary: primaryOfMetadata, owned: ownedOfMetadata} {
			require.False(f.t, got[typed] && !got[metadata], "%s sleeps over %s with metadata only", typed, want.change)
		}
	}
}
