package conformance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ripemd160" //nolint:staticcheck // the algorithm that some operators' stored digests have
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

const (
	adopts          = "adopted if asked to, and only if nobody controls it"
	survivesReplace = "replaced as a whole is put back"
	sharesObject    = "two operators share an object"
	labelDigest     = "ripemd160 in a label serves as well"
	takesTwin       = "typed or unstructured makes no difference"
	labelsOnly      = "labels alone can be ensured"
)

// passWith is pass with its own options, from which the owner may be missing, so that the namespace
// is not inferred.
func (b *bench) passWith(e *ensure.Ensurer, desired client.Object, opts ...ensure.Option) (ensure.Result[client.Object], []cluster.Request) {
	b.t.Helper()
	desired.SetNamespace(b.home)
	mark := shared.Mark()
	res, err := ensure.Object(b.ctx, e, desired, opts...)
	require.NoError(b.t, err)
	return res, b.requests(mark)
}

// requireFree requires that five passes find nothing to do, once the operator has asked the server
// about other programs' changes.
func (b *bench) requireFree(e *ensure.Ensurer, desired func() client.Object, opts ...ensure.Option) {
	b.t.Helper()
	b.awaitCached(b.live())
	before := b.live()
	res, requests := b.passWith(e, desired(), opts...)
	b.requireOperation(res, ensure.Unchanged, "")
	b.requireAtMostOne(requests)
	b.await("the cache to show it", func() bool {
		res, requests = b.passWith(e, desired(), opts...)
		return !res.Stale && writes(requests) == 0
	})
	for range 5 {
		res, requests = b.passWith(e, desired(), opts...)
		b.requireOperation(res, ensure.Unchanged, "")
		require.Len(b.t, requests, b.access.reads, "the server saw %v", requests)
	}
	b.requireSame(before, b.live())
}

func (b *bench) awaitSettled() {
	b.t.Helper()
	if b.settled != nil {
		b.await("the controllers", func() bool { return b.settled(b.live()) })
	}
	b.awaitCached(b.live())
}

// TestAdopt takes over an object of another manager.
func TestAdopt(t *testing.T) {
	t.Parallel()
	benches(t, subjects(), firstInEveryMode, func(b *bench) {
		b.createStrangers()
		b.requireRefusal(ensure.ErrForeign, b.asked())
		b.awaitSettled()
		res, requests := b.passWith(b.ensurer, b.desired(), ensure.ControlledBy(b.owner), ensure.Adopt())
		b.requireOperation(res, ensure.Updated, ensure.Adopted)
		b.requireRequests(requests, 1, b.asked())
		b.requireFiveFreePasses("after adoption")
		require.Equal(b.t, b.owner.GetUID(), metav1.GetControllerOf(b.live()).UID)

		b.delete()
		b.createStrangers(controlledBy(b.t, b.stranger)...)
		b.awaitSettled()
		before := b.live()
		mark := shared.Mark()
		_, err := ensure.Object(b.ctx, b.ensurer, b.desired(), ensure.ControlledBy(b.owner), ensure.Adopt())
		require.ErrorIs(b.t, err, ensure.ErrForeign)
		b.requireWrites(b.requests(mark), 0)
		b.requireSame(before, b.live())

		res, requests = b.passWith(b.ensurer, b.desired(), ensure.Adopt())
		b.requireOperation(res, ensure.Updated, ensure.Adopted)
		b.requireRequests(requests, 1, b.asked()) // whose is the reference to the controller?
		b.requireFree(b.ensurer, b.desired, ensure.Adopt())
		require.Equal(b.t, before.GetOwnerReferences(), b.live().GetOwnerReferences())
		b.requireRefusal(ensure.ErrForeign, 0)
		b.shows(adopts)
	})
}

// replace is kubectl replace with a manifest that knows nothing of us.
func (b *bench) replace(managedFields []metav1.ManagedFieldsEntry) {
	b.t.Helper()
	var obj client.Object
	require.NoError(b.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write as well
		obj = b.live()
		obj.SetOwnerReferences(nil)
		obj.SetAnnotations(with(with(obj.GetAnnotations(), digestAnnotation, ""), ours, ""))
		obj.SetLabels(with(obj.GetLabels(), ours, "replaced"))
		obj.SetManagedFields(managedFields)
		return b.human.Update(b.ctx, obj, client.FieldOwner("kubectl-replace"))
	}))
	b.awaitCached(obj)
}

// TestReplaced: an object that a person replaced as a whole is recognised by its UID and repaired.
// A restarted process relies on the managed fields. If these were reset, too, nothing shows that
// the object is ours.
func TestReplaced(t *testing.T) {
	t.Parallel()
	reset := []metav1.ManagedFieldsEntry{{}}
	benches(t, subjects(), firstInEveryMode, func(b *bench) {
		b.createIsOneRequest()
		for _, fields := range [][]metav1.ManagedFieldsEntry{nil, reset} {
			before := b.live()
			b.replace(fields)
			res, requests := b.pass()
			b.requireOperation(res, ensure.Updated, ensure.Drifted)
			b.requireWrites(requests, 1)
			b.requireSameOrAdopted(before, b.live())
			b.requireFiveFreePasses("after a replacement")
		}
		before := b.live()
		b.replace(nil)
		b.restart()
		res, requests := b.pass()
		b.requireOperation(res, ensure.Updated, ensure.Drifted)
		b.requireRequests(requests, 1, b.asked())
		b.requireSameOrAdopted(before, b.live())

		b.replace(reset)
		b.restart()
		b.requireRefusal(ensure.ErrForeign, 1) // no managed fields: does the server have some?
		b.shows(survivesReplace)
	})
}

// requireSameOrAdopted is requireSame, but ignores whether the digest marks the object as adopted,
// as an object without digest counts as adopted.
func (b *bench) requireSameOrAdopted(want, got client.Object, about ...any) {
	b.t.Helper()
	for _, obj := range []client.Object{want, got} {
		stored := obj.GetAnnotations()[digestAnnotation]
		obj.SetAnnotations(with(obj.GetAnnotations(), digestAnnotation, strings.TrimPrefix(stored, "adopt-")))
	}
	b.requireSame(want, got, about...)
}

// metadataOf is desired's identity with these labels, and no content.
func (b *bench) metadataOf(labels map[string]string) func() client.Object {
	like := b.empty()
	return func() client.Object {
		partial := &metav1.PartialObjectMetadata{}
		partial.SetGroupVersionKind(like.GetObjectKind().GroupVersionKind())
		partial.SetNamespace(like.GetNamespace())
		partial.SetName(like.GetName())
		partial.SetLabels(labels)
		return partial
	}
}

// TestTwoOwners: another operator, with its own field owner, specifies labels of the same object.
// One of these labels is ours, too.
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	benches(t, subjects(), firstInEveryMode, func(b *bench) {
		const theirDigest = "spec-hash.trueup-go.github.io/another"
		another := ensure.New(b.access.client, b.access.reader, "another")
		b.createIsOneRequest()
		alone := b.live()

		both := b.metadataOf(map[string]string{ours: "yes", "second": "yes"})
		res, requests := b.passWith(another, both(), ensure.Adopt())
		b.requireOperation(res, ensure.Updated, ensure.Adopted)
		b.requireRequests(requests, 1, b.asked())
		b.requireFree(another, both, ensure.Adopt())
		b.requireFree(b.ensurer, b.desired, ensure.ControlledBy(b.owner))
		shared := b.live()
		require.NotEmpty(b.t, shared.GetAnnotations()[digestAnnotation])
		require.NotEmpty(b.t, shared.GetAnnotations()[theirDigest])
		alone.SetLabels(with(alone.GetLabels(), "second", "yes"))
		alone.SetAnnotations(with(alone.GetAnnotations(), theirDigest, shared.GetAnnotations()[theirDigest]))
		b.requireSame(alone, shared, "neither lost anything")
		b.restartWritesNothing()
		b.requireSame(alone, b.live(), "after a restart")

		unlabelled := b.desired
		b.desired = func() client.Object {
			obj := unlabelled()
			obj.SetLabels(with(obj.GetLabels(), ours, ""))
			return obj
		}
		res, requests = b.pass()
		b.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
		b.requireWrites(requests, 1)
		require.Equal(b.t, "yes", b.live().GetLabels()[ours], "the other operator has it still")
		b.requireFiveFreePasses("after we dropped it")
		b.requireFree(another, both, ensure.Adopt())

		second := b.metadataOf(map[string]string{"second": "yes"})
		b.awaitCached(b.live())
		res, requests = b.passWith(another, second(), ensure.Adopt())
		b.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
		b.requireRequests(requests, 1, b.asked())
		require.NotContains(b.t, b.live().GetLabels(), ours, "nobody wants it")
		require.Equal(b.t, "yes", b.live().GetLabels()["second"])
		b.requireFree(another, second, ensure.Adopt())
		b.requireFiveFreePasses("after both dropped it")
		b.shows(sharesObject)
		b.shows(labelsOnly)
	})
}

// TestMetadataOnly: an object can even be made of nothing else.
func TestMetadataOnly(t *testing.T) {
	t.Parallel()
	benches(t, []subject{configMap()}, everyMode, func(b *bench) {
		b.desired = b.metadataOf(map[string]string{ours: "yes"})
		res, requests := b.pass()
		b.requireOperation(res, ensure.Created, ensure.Missing)
		b.requireWrites(requests, 1)
		b.requireFiveFreePasses("after create")
		b.shows(labelsOnly)
	})
}

// handful returns kinds of all sorts, for tests that do not depend on the kind.
func handful() []subject {
	return []subject{idle(deployment()), secret(), service(), clusterRole(), customResourceDefinition(), gadget(), unstructuredGadget(), job()}
}

// TestLabelDigest: another algorithm, in a label.
func TestLabelDigest(t *testing.T) {
	t.Parallel()
	const key = "example.com/digest"
	benches(t, handful(), firstInEveryMode, func(b *bench) {
		fresh := func() *ensure.Ensurer {
			return ensure.New(b.access.client, b.access.reader, fieldOwner, ensure.WithDigest(hash.Using(ripemd160.New), hash.Label(key)))
		}
		b.ensurer = fresh()
		b.createIsOneRequest()
		digest := b.live().GetLabels()[key]
		require.Regexp(b.t, "^[0-9a-f]{40}$", digest)
		require.NotContains(b.t, b.live().GetAnnotations(), digestAnnotation)
		b.ensurer = fresh()
		res, requests := b.pass()
		b.requireOperation(res, ensure.Unchanged, "")
		b.requireAtMostOne(requests)
		b.requireFiveFreePasses("after a restart")

		b.editIsPutBack(edit{"no digest", func(obj client.Object) { obj.SetLabels(with(obj.GetLabels(), key, "")) }})
		b.droppedIsGone()
		require.NotEqual(b.t, digest, b.live().GetLabels()[key])

		b.restart()
		res, requests = b.pass()
		b.requireOperation(res, ensure.Updated, ensure.Drifted, "another form of digest")
		b.requireRequests(requests, 1, b.asked())
		require.NotContains(b.t, b.live().GetLabels(), key)
		b.requireFiveFreePasses("after another form of digest")
		b.shows(labelDigest)
	})
}

// twin is desired as unstructured content.
func twin(t *testing.T, desired client.Object, gvk schema.GroupVersionKind) client.Object {
	t.Helper()
	data, err := json.Marshal(desired)
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal(data, &u.Object))
	u.SetGroupVersionKind(gvk)
	delete(u.Object, "status")
	if secrets, _, _ := unstructured.NestedFieldNoCopy(u.Object, "data"); gvk.Kind == "Secret" {
		for key, value := range secrets.(map[string]any) {
			if value == nil { // which unstructured content writes as an empty string
				set(u, "", "data", key)
			}
		}
	}
	return u
}

// TestTwins: an operator that switches from typed objects to unstructured ones, and back, writes at
// most its digest, which may change because Go writes zero values.
func TestTwins(t *testing.T) {
	t.Parallel()
	benches(t, subjects(), firstInEveryMode, func(b *bench) {
		b.createIsOneRequest()
		before, gvk := b.live(), b.empty().GetObjectKind().GroupVersionKind()
		typed, settled := b.desired, b.settled
		b.desired = func() client.Object { return twin(b.t, typed(), gvk) }
		b.settled = nil
		b.takesTwin(before)

		b.desired, b.settled = typed, settled
		b.takesTwin(before)
		b.shows(takesTwin)
	})
}

func (b *bench) takesTwin(before client.Object) {
	b.t.Helper()
	b.restart()
	b.awaitCached(b.live())
	res, requests := b.pass()
	b.requireAtMostOne(requests)
	for _, change := range res.Changes {
		require.Equal(b.t, "metadata.annotations["+digestAnnotation+"]", change.Path)
	}
	b.requireFiveFreePasses("as the twin")
	live := before.DeepCopyObject().(client.Object)
	require.NoError(b.t, b.human.Get(b.ctx, client.ObjectKeyFromObject(before), live))
	live.SetAnnotations(with(live.GetAnnotations(), digestAnnotation, before.GetAnnotations()[digestAnnotation]))
	b.requireSame(before, live)
}
