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
	adopts            = "adopted if asked to, and only if nobody controls it"
	survivesReplace   = "replaced as a whole is put back"
	sharesObject      = "two operators share an object"
	labelDigest       = "ripemd160 in a label serves as well"
	acceptsEitherForm = "typed or unstructured makes no difference"
	labelsOnly        = "labels alone can be ensured"
)

// passWith is pass with its own options, from which the owner may be missing, so that the namespace
// is not inferred.
func (f *fixture) passWith(e *ensure.Ensurer, desired client.Object, opts ...ensure.Option) (ensure.Result[client.Object], []cluster.Request) {
	f.t.Helper()
	desired.SetNamespace(f.childNamespace)
	mark := shared.Mark()
	res, err := ensure.Object(f.ctx, e, desired, opts...)
	require.NoError(f.t, err)
	return res, f.requests(mark)
}

// requireFree requires that five passes find nothing to do, once the operator has asked the server
// about other programs' changes.
func (f *fixture) requireFree(e *ensure.Ensurer, desired func() client.Object, opts ...ensure.Option) {
	f.t.Helper()
	f.awaitCached(f.live())
	before := f.live()
	res, requests := f.passWith(e, desired(), opts...)
	f.requireOperation(res, ensure.Unchanged, "")
	f.requireAtMostOne(requests)
	f.await("the cache to show it", func() bool {
		res, requests = f.passWith(e, desired(), opts...)
		return !res.Stale && writes(requests) == 0
	})
	for range 5 {
		res, requests = f.passWith(e, desired(), opts...)
		f.requireOperation(res, ensure.Unchanged, "")
		require.Len(f.t, requests, f.access.reads, "the server saw %v", requests)
	}
	f.requireSame(before, f.live())
}

func (f *fixture) awaitSettled() {
	f.t.Helper()
	if f.settled != nil {
		f.await("the controllers", func() bool { return f.settled(f.live()) })
	}
	f.awaitCached(f.live())
}

// TestAdopt takes over an object of another manager.
func TestAdopt(t *testing.T) {
	t.Parallel()
	forEachFixture(t, some(t, kindCases()), firstInEveryMode, func(f *fixture) {
		f.createForeign()
		f.requireRefusal(ensure.ErrForeign, f.asked())
		f.awaitSettled()
		res, requests := f.passWith(f.ensurer, f.desired(), ensure.ControlledBy(f.owner), ensure.Adopt())
		f.requireOperation(res, ensure.Updated, ensure.Adopted)
		f.requireRequests(requests, 1, f.asked())
		f.requireFiveFreePasses("after adoption")
		require.Equal(f.t, f.owner.GetUID(), metav1.GetControllerOf(f.live()).UID)

		f.delete()
		f.createForeign(controlledBy(f.t, f.otherOwner)...)
		f.awaitSettled()
		before := f.live()
		mark := shared.Mark()
		_, err := ensure.Object(f.ctx, f.ensurer, f.desired(), ensure.ControlledBy(f.owner), ensure.Adopt())
		require.ErrorIs(f.t, err, ensure.ErrForeign)
		f.requireWrites(f.requests(mark), 0)
		f.requireSame(before, f.live())

		res, requests = f.passWith(f.ensurer, f.desired(), ensure.Adopt())
		f.requireOperation(res, ensure.Updated, ensure.Adopted)
		f.requireRequests(requests, 1, f.asked()) // whose is the reference to the controller?
		f.requireFree(f.ensurer, f.desired, ensure.Adopt())
		require.Equal(f.t, before.GetOwnerReferences(), f.live().GetOwnerReferences())
		f.requireRefusal(ensure.ErrForeign, 0)
		f.noteShown(adopts)
	})
}

// replace is kubectl replace with a manifest that knows nothing of us.
func (f *fixture) replace(managedFields []metav1.ManagedFieldsEntry) {
	f.t.Helper()
	var obj client.Object
	require.NoError(f.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write as well
		obj = f.live()
		obj.SetOwnerReferences(nil)
		obj.SetAnnotations(with(with(obj.GetAnnotations(), digestAnnotation, ""), ours, ""))
		obj.SetLabels(with(obj.GetLabels(), ours, "replaced"))
		obj.SetManagedFields(managedFields)
		return f.admin.Update(f.ctx, obj, client.FieldOwner("kubectl-replace"))
	}))
	f.awaitCached(obj)
}

// TestReplaced: an object that a user replaced as a whole is recognised by its UID and repaired.
// A restarted process relies on the managed fields. If these were reset, too, nothing shows that
// the object is ours.
func TestReplaced(t *testing.T) {
	t.Parallel()
	reset := []metav1.ManagedFieldsEntry{{}}
	forEachFixture(t, some(t, kindCases()), firstInEveryMode, func(f *fixture) {
		f.createIsOneRequest()
		for more, fields := range [][]metav1.ManagedFieldsEntry{nil, reset} {
			before := f.live()
			f.replace(fields)
			res, requests := f.pass()
			f.requireOperation(res, ensure.Updated, ensure.Drifted)
			if writes(requests) == 1+more { // after a reset, the second makes the fields ours alone, unless the object counts as adopted
				f.requireWrites(requests, 1+more)
			} else {
				f.requireWrites(requests, 1)
			}
			f.requireSameOrAdopted(before, f.live())
			f.requireFiveFreePasses("after a replacement")
		}
		before := f.live()
		f.replace(nil)
		f.restart()
		res, requests := f.pass()
		f.requireOperation(res, ensure.Updated, ensure.Drifted)
		f.requireRequests(requests, 1, f.asked())
		f.requireSameOrAdopted(before, f.live())

		f.replace(reset)
		f.restart()
		f.requireRefusal(ensure.ErrForeign, 1) // no managed fields: does the server have some?
		f.noteShown(survivesReplace)
	})
}

// requireSameOrAdopted is requireSame, but ignores whether the digest marks the object as adopted,
// as an object without digest counts as adopted.
func (f *fixture) requireSameOrAdopted(want, got client.Object, about ...any) {
	f.t.Helper()
	for _, obj := range []client.Object{want, got} {
		stored := obj.GetAnnotations()[digestAnnotation]
		obj.SetAnnotations(with(obj.GetAnnotations(), digestAnnotation, strings.TrimPrefix(stored, "adopt-")))
	}
	f.requireSame(want, got, about...)
}

// metadataOf is desired's identity with these labels, and no content.
func (f *fixture) metadataOf(labels map[string]string) func() client.Object {
	like := f.empty()
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
	forEachFixture(t, some(t, kindCases()), firstInEveryMode, func(f *fixture) {
		const theirDigest = "spec-hash.trueup-go.github.io/another"
		another := ensure.New(f.access.client, f.access.reader, "another")
		f.createIsOneRequest()
		alone := f.live()

		both := f.metadataOf(map[string]string{ours: "yes", "second": "yes"})
		res, requests := f.passWith(another, both(), ensure.Adopt())
		f.requireOperation(res, ensure.Updated, ensure.Adopted)
		f.requireRequests(requests, 1, f.asked())
		f.requireFree(another, both, ensure.Adopt())
		f.requireFree(f.ensurer, f.desired, ensure.ControlledBy(f.owner))
		shared := f.live()
		require.NotEmpty(f.t, shared.GetAnnotations()[digestAnnotation])
		require.NotEmpty(f.t, shared.GetAnnotations()[theirDigest])
		alone.SetLabels(with(alone.GetLabels(), "second", "yes"))
		alone.SetAnnotations(with(alone.GetAnnotations(), theirDigest, shared.GetAnnotations()[theirDigest]))
		f.requireSame(alone, shared, "neither lost anything")
		f.restartWritesNothing()
		f.requireSame(alone, f.live(), "after a restart")

		unlabelled := f.desired
		f.desired = func() client.Object {
			obj := unlabelled()
			obj.SetLabels(with(obj.GetLabels(), ours, ""))
			return obj
		}
		res, requests = f.pass()
		f.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
		f.requireWrites(requests, 1)
		require.Equal(f.t, "yes", f.live().GetLabels()[ours], "the other operator has it still")
		f.requireFiveFreePasses("after we dropped it")
		f.requireFree(another, both, ensure.Adopt())

		second := f.metadataOf(map[string]string{"second": "yes"})
		f.awaitCached(f.live())
		res, requests = f.passWith(another, second(), ensure.Adopt())
		f.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
		f.requireRequests(requests, 1, f.asked())
		require.NotContains(f.t, f.live().GetLabels(), ours, "nobody wants it")
		require.Equal(f.t, "yes", f.live().GetLabels()["second"])
		f.requireFree(another, second, ensure.Adopt())
		f.requireFiveFreePasses("after both dropped it")
		f.noteShown(sharesObject)
		f.noteShown(labelsOnly)
	})
}

// TestMetadataOnly: an object can even be made of nothing else.
func TestMetadataOnly(t *testing.T) {
	t.Parallel()
	forEachFixture(t, []kindCase{configMap()}, everyMode, func(f *fixture) {
		f.desired = f.metadataOf(map[string]string{ours: "yes"})
		res, requests := f.pass()
		f.requireOperation(res, ensure.Created, ensure.Missing)
		f.requireWrites(requests, 1)
		f.requireFiveFreePasses("after create")
		f.noteShown(labelsOnly)
	})
}

// sampleKinds returns kinds of all sorts, for tests that do not depend on the kind.
func sampleKinds() []kindCase {
	return []kindCase{idle(deployment()), secret(), service(), clusterRole(), customResourceDefinition(), gadget(), unstructuredGadget(), job()}
}

// TestLabelDigest: another algorithm, in a label.
func TestLabelDigest(t *testing.T) {
	t.Parallel()
	const key = "example.com/digest"
	forEachFixture(t, sampleKinds(), firstInEveryMode, func(f *fixture) {
		fresh := func() *ensure.Ensurer {
			return ensure.New(f.access.client, f.access.reader, fieldOwner, ensure.WithDigest(hash.Using(ripemd160.New), hash.Label(key)))
		}
		f.ensurer = fresh()
		f.createIsOneRequest()
		digest := f.live().GetLabels()[key]
		require.Regexp(f.t, "^[0-9a-f]{40}$", digest)
		require.NotContains(f.t, f.live().GetAnnotations(), digestAnnotation)
		f.ensurer = fresh()
		res, requests := f.pass()
		f.requireOperation(res, ensure.Unchanged, "")
		f.requireAtMostOne(requests)
		f.requireFiveFreePasses("after a restart")

		f.editIsPutBack(edit{"no digest", func(obj client.Object) { obj.SetLabels(with(obj.GetLabels(), key, "")) }})
		f.droppedIsGone()
		require.NotEqual(f.t, digest, f.live().GetLabels()[key])

		f.restart()
		res, requests = f.pass()
		f.requireOperation(res, ensure.Updated, ensure.Drifted, "another form of digest")
		f.requireRequests(requests, 1, f.asked())
		require.NotContains(f.t, f.live().GetLabels(), key)
		f.requireFiveFreePasses("after another form of digest")
		f.noteShown(labelDigest)
	})
}

// asUnstructured returns desired as unstructured content.
func asUnstructured(t *testing.T, desired client.Object, gvk schema.GroupVersionKind) client.Object {
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

// TestTypedAndUnstructured: an operator that switches from typed objects to unstructured ones, and
// back, writes at most its digest, which may change because Go writes zero values.
func TestTypedAndUnstructured(t *testing.T) {
	t.Parallel()
	forEachFixture(t, some(t, kindCases()), firstInEveryMode, func(f *fixture) {
		f.createIsOneRequest()
		before, gvk := f.live(), f.empty().GetObjectKind().GroupVersionKind()
		typed, settled := f.desired, f.settled
		f.desired = func() client.Object { return asUnstructured(f.t, typed(), gvk) }
		f.settled = nil
		f.requireFormAccepted(before)

		f.desired, f.settled = typed, settled
		f.requireFormAccepted(before)
		f.noteShown(acceptsEitherForm)
	})
}

func (f *fixture) requireFormAccepted(before client.Object) {
	f.t.Helper()
	f.restart()
	f.awaitCached(f.live())
	res, requests := f.pass()
	f.requireAtMostOne(requests)
	for _, change := range res.Changes {
		require.Equal(f.t, "metadata.annotations["+digestAnnotation+"]", change.Path)
	}
	f.requireFiveFreePasses("in the other form")
	live := before.DeepCopyObject().(client.Object)
	require.NoError(f.t, f.admin.Get(f.ctx, client.ObjectKeyFromObject(before), live))
	live.SetAnnotations(with(live.GetAnnotations(), digestAnnotation, before.GetAnnotations()[digestAnnotation]))
	f.requireSame(before, live)
}
