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

// A bench is one kind with its watches: as the Go type (unstructured for custom kinds),
// unstructured, and metadata only.
type bench struct {
	kind
	t         *testing.T
	ctx       context.Context
	namespace *corev1.Namespace
	wire      *wire
	witnesses map[string]*witness
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
				b := newBench(t, k)
				b.run()
				b.requireContract()
				mu.Lock()
				defer mu.Unlock()
				results[k.name] = b.seen
			})
		}
	})
	if t.Failed() {
		return // a page of half the truth helps nobody
	}
	settlePage(t, results)
}

func newBench(t *testing.T, k kind) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	b := &bench{kind: k, t: t, ctx: ctx, wire: newWire(), witnesses: map[string]*witness{}, seen: map[string]verdicts{}}
	b.namespace = &corev1.Namespace{}
	require.NoError(t, human.Get(ctx, client.ObjectKey{Name: shared.Namespace(t)}, b.namespace))
	b.watch()
	return b
}

func (b *bench) watch() {
	config := rest.CopyConfig(shared.Config())
	config.Wrap(b.wire.wrap)
	c, err := cache.New(config, cache.Options{
		Scheme: scheme, SyncPeriod: new(time.Second),
		DefaultWatchErrorHandler: func(context.Context, *toolscache.Reflector, error) {},
	})
	require.NoError(b.t, err)

	gvk, err := apiutil.GVKForObject(b.object(""), scheme)
	require.NoError(b.t, err)
	untyped, metadata := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	untyped.SetGroupVersionKind(gvk)
	metadata.SetGroupVersionKind(gvk)
	ctx, cancel := context.WithCancel(context.Background())
	var sources []source.SyncingSource
	for as, obj := range map[string]client.Object{asTyped: b.object(""), asUnstructured: untyped, asMetadata: metadata} {
		w, kind := watch(ctx, b.t, c, obj)
		b.witnesses[as], sources = w, append(sources, kind)
	}
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		require.NoError(b.t, <-done)
	})
	for _, kind := range sources {
		require.NoError(b.t, kind.WaitForSync(b.ctx))
	}
}

// run makes the possible changes to one object after another.
func (b *bench) run() {
	subject := b.create("subject")
	b.record(created, "subject", sighting.isCreate)
	if b.bound {
		b.bind(subject)
	}
	b.patch(subject, specChanged, b.spec)
	b.patch(subject, statusChanged, b.status, b.statusOn...)
	on := b.statusOn
	b.patch(subject, heartbeat, b.heartbeat, on...)
	for _, step := range b.more {
		b.patch(subject, step[0], step[1], on...)
	}
	b.patch(subject, label, `{"metadata":{"labels":{"changed":"yes"}}}`)
	b.patch(subject, annotation, `{"metadata":{"annotations":{"changed":"yes"}}}`)
	b.patch(subject, ownerChanged, fmt.Sprintf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":%q,"uid":%q}]}}`, b.namespace.Name, b.namespace.UID))
	b.applySame(subject)
	b.record(resync, "subject", sighting.isResync)
	b.patch(subject, finalizer, `{"metadata":{"finalizers":["example.com/held"]}}`)

	b.delete(subject)
	b.record(going, "subject", sighting.isDeletionRequest)
	b.change(subject, types.MergePatchType, `{"metadata":{"finalizers":null}}`)
	b.record(gone, "subject", sighting.isDelete)

	b.delete(b.create("passing"))
	b.record(deleted, "passing", sighting.isDelete)
	b.missEvents()
}

func (b *bench) missEvents() {
	lost, twin := b.create("lost"), b.create("twin")
	for _, w := range b.witnesses {
		w.await(b.ctx, b.t, "lost", sighting.isCreate)
		w.await(b.ctx, b.t, "twin", sighting.isCreate)
	}
	b.wire.during(b.ctx, b.t, func() {
		b.delete(lost)
		b.delete(twin)
		b.awaitGone(lost)
		b.awaitGone(twin)
		twin = b.create("twin")
	})
	b.record(missed, "lost", func(s sighting) bool { return s.isDelete() && s.missed })
	b.record(replaced, "twin", sighting.isReplacement)
	b.delete(twin)
}

func (b *bench) create(name string) client.Object {
	b.t.Helper()
	obj := b.object(name)
	if b.cluster {
		b.t.Cleanup(func() { require.NoError(b.t, client.IgnoreNotFound(human.Delete(context.Background(), obj))) })
	} else {
		obj.SetNamespace(b.namespace.Name)
	}
	require.NoError(b.t, human.Create(b.ctx, obj))
	return obj
}

func (b *bench) delete(obj client.Object) {
	b.t.Helper()
	require.NoError(b.t, human.Delete(b.ctx, obj, client.GracePeriodSeconds(0)))
}

func (b *bench) awaitGone(obj client.Object) {
	b.t.Helper()
	obj = obj.DeepCopyObject().(client.Object)
	require.NoError(b.t, wait.PollUntilContextCancel(b.ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := human.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}))
}

// patch records the one event of a patch. As others may write the object in between, the event is
// identified by its resourceVersion.
func (b *bench) patch(obj client.Object, change, patch string, subresource ...string) {
	b.t.Helper()
	if patch == "" {
		return
	}
	b.change(obj, b.patchType, patch, subresource...)
	b.record(change, obj.GetName(), func(s sighting) bool { return s.is(obj.GetUID(), obj.GetResourceVersion()) })
}

// change patches the object and updates obj with the server's answer.
func (b *bench) change(obj client.Object, patchType types.PatchType, patch string, subresource ...string) {
	b.t.Helper()
	raw := client.RawPatch(patchType, []byte(patch))
	if len(subresource) == 0 {
		require.NoError(b.t, human.Patch(b.ctx, obj, raw))
		return
	}
	require.NoError(b.t, human.SubResource(subresource[0]).Patch(b.ctx, obj, raw))
}

// applySame has somebody else apply a label that is there.
func (b *bench) applySame(obj client.Object) {
	b.t.Helper()
	gvk, err := apiutil.GVKForObject(obj, scheme)
	require.NoError(b.t, err)
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"changed":"yes"}}}`,
		gvk.GroupVersion().String(), gvk.Kind, obj.GetName())
	require.NoError(b.t, human.Patch(b.ctx, obj, client.RawPatch(types.ApplyPatchType, []byte(body)), client.FieldOwner("another")))
	b.record(managedFields, obj.GetName(), func(s sighting) bool { return s.is(obj.GetUID(), obj.GetResourceVersion()) })
}

// bind makes a volume for the claim and waits until they are bound.
func (b *bench) bind(obj client.Object) {
	b.t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: named(b.namespace.Name),
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: storageClass,
			Capacity:               corev1.ResourceList{"storage": resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
			ClaimRef:               &corev1.ObjectReference{Namespace: b.namespace.Name, Name: obj.GetName()},
		},
	}
	require.NoError(b.t, human.Create(b.ctx, volume))
	b.t.Cleanup(func() { require.NoError(b.t, human.Delete(context.Background(), volume)) })
	claim := obj.(*corev1.PersistentVolumeClaim)
	require.NoError(b.t, wait.PollUntilContextCancel(b.ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return claim.Status.Phase == corev1.ClaimBound, human.Get(ctx, client.ObjectKeyFromObject(claim), claim)
	}))
}

// record waits for the event in every watch.
func (b *bench) record(change, name string, is func(sighting) bool) {
	b.t.Helper()
	typed := b.witnesses[asTyped].await(b.ctx, b.t, name, is)
	untyped := b.witnesses[asUnstructured].await(b.ctx, b.t, name, is)
	metadata := b.witnesses[asMetadata].await(b.ctx, b.t, name, is)
	require.Empty(b.t, cmp.Diff(typed, untyped), "the representation makes a difference for %s", change)

	b.seen[change] = maps.Clone(typed)
	b.seen[change][primaryOfMetadata], b.seen[change][ownedOfMetadata] = metadata[primary], metadata[owned]
}

func (b *bench) requireContract() {
	b.t.Helper()
	for _, want := range wanted {
		got, ok := b.seen[want.change]
		if !ok {
			continue
		}
		require.Equal(b.t, primaryWakes(b.name, want.change, want.primary), got[primary], "Primary, %s", want.change)
		require.Equal(b.t, want.owned, got[owned], "Owned, %s", want.change)
		if b.name == "PriorityClass" && want.change == specChanged {
			continue // its generation is there, and metadata show nothing else
		}
		for typed, metadata := range map[string]string{primary: primaryOfMetadata, owned: ownedOfMetadata} {
			require.False(b.t, got[typed] && !got[metadata], "%s sleeps over %s with metadata only", typed, want.change)
		}
	}
}
