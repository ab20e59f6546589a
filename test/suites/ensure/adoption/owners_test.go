package adoption_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
)

const ourConfigMap = `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: ours}}, data: {ours: x}}`

// A naming is a child of one owner that another owner of the same operator names, too.
type naming struct {
	adopted bool
	opts    []ensure.Option
	then    func(h *house) *ensure.Ensurer // after the child is made; nil for nothing
	want    ensure.Operation               // once its owner no longer wants it
}

var namings = map[string]naming{
	"adopted":              {true, []ensure.Option{ensure.Adopt()}, nil, ensure.Released},
	"made":                 {false, nil, nil, ensure.Deleting},
	"made once":            {false, []ensure.Option{ensure.IfMissing()}, nil, ensure.Deleting},
	"made, without digest": {false, nil, withoutItsDigest, ensure.Released},
	"made, with another store": {false, nil, func(h *house) *ensure.Ensurer {
		return ensure.New(h.client, h.reader, adopter, ensure.WithDigest(hash.Default(), digestLabel))
	}, ensure.Deleting},
}

// withoutItsDigest has a person remove the digest of a child.
func withoutItsDigest(h *house) *ensure.Ensurer {
	h.merge(ourConfigMap, `{"metadata":{"annotations":{"`+digest+`":null}}}`)
	return h.started()
}

// merge has a person patch an object.
func (h *house) merge(text, patch string) {
	h.t.Helper()
	require.NoError(h.t, h.person.Patch(h.t.Context(), h.parseUntyped(text), client.RawPatch(types.MergePatchType, []byte(patch))))
	h.settled(text)
}

// TestAnotherOwnerWantsNone: Absent for another owner writes nothing and removes no owner
// reference. Absent for the child's own owner works as before.
func TestAnotherOwnerWantsNone(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]access{"plain": plain, "stripped": stripped} {
		for name, n := range namings {
			for _, isOwned := range []bool{true, false} {
				t.Run(way+"/"+name+map[bool]string{true: "/by an owner", false: "/by nobody"}[isOwned], func(t *testing.T) {
					t.Parallel()
					n.play(newHouse(t, true, open), isOwned)
				})
			}
		}
	}
}

func (n naming) play(h *house, isOwned bool) {
	h.t.Helper()
	var others []ensure.Option
	if isOwned {
		others = append(others, ensure.ControlledBy(h.newOwner("other")))
	}
	if n.adopted {
		h.create(theirConfigMap)
	}
	owned, e := ensure.ControlledBy(h.owner), h.started()
	_, err := ensure.Object(h.t.Context(), e, h.parse(ourConfigMap), append(n.opts, owned)...)
	require.NoError(h.t, err)
	before := specified(h.settled(ourConfigMap))
	if n.then != nil {
		e = n.then(h)
		before = specified(h.settled(ourConfigMap))
	}
	for range 2 {
		mark := shared.Mark()
		gone, err := ensure.Absent(h.t.Context(), e, h.parse(ourConfigMap), others...)
		require.NoError(h.t, err)
		require.Equal(h.t, ensure.Released, gone.Operation)
		require.Empty(h.t, gone.Cause)
		require.Zero(h.t, h.writes(mark))
		require.Empty(h.t, cmp.Diff(before, specified(h.settled(ourConfigMap))))
	}
	gone, err := ensure.Absent(h.t.Context(), e, h.parse(ourConfigMap), owned)
	require.NoError(h.t, err)
	require.Equal(h.t, n.want, gone.Operation)
	require.Equal(h.t, ensure.Unwanted, gone.Cause)
}

// TestAnotherOwnerDoesNotEndAContest that is over a child of the first one.
func TestAnotherOwnerDoesNotEndAContest(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true, plain)
	e, other := h.started(), ensure.ControlledBy(h.newOwner("other"))
	desired := `{apiVersion: v1, kind: ConfigMap, data: {colour: green}}`
	var err error
	for range 8 {
		if _, err = ensure.Object(t.Context(), e, h.parse(desired), ensure.ControlledBy(h.owner)); err != nil {
			break
		}
		h.merge(desired, `{"data":{"colour":"red"}}`)
		_, err = ensure.Absent(t.Context(), e, h.parse(desired), other)
		require.NoError(t, err)
	}
	require.ErrorIs(t, err, ensure.ErrContested)
}

// TestAbsentOfWhatNamesItsController: Absent deletes the object that Object makes from the same
// desired state. A controller of the live object does not change this.
func TestAbsentOfWhatNamesItsController(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true, stripped)
	desired := func() client.Object {
		obj := h.parse(ourConfigMap)
		require.NoError(t, controllerutil.SetControllerReference(h.owner, obj, h.person.Scheme()))
		return obj
	}
	e := h.started()
	made, err := ensure.Object(t.Context(), e, desired())
	require.NoError(t, err)
	gone, err := ensure.Absent(t.Context(), h.started(), made.Live)
	require.NoError(t, err)
	require.Equal(t, ensure.Released, gone.Operation)
	for _, opt := range []ensure.Option{ensure.DryRun(), ensure.Propagation("")} {
		gone, err = ensure.Absent(t.Context(), e, desired(), opt)
		require.NoError(t, err)
		require.Equal(t, ensure.Deleting, gone.Operation)
	}
	require.Eventually(t, func() bool {
		return apierrors.IsNotFound(h.person.Get(t.Context(), client.ObjectKeyFromObject(made.Live), &corev1.ConfigMap{}))
	}, limit, 100*time.Millisecond)
}

// TestOursBesideItsOwner: another part of the operator applies with Adopt to a child that we made
// for an owner. The child stays ours to delete.
func TestOursBesideItsOwner(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]access{"plain": plain, "stripped": stripped} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, true, open)
			e, owned := h.started(), ensure.ControlledBy(h.owner)
			_, err := ensure.Object(t.Context(), e, h.parse(ourConfigMap), owned)
			require.NoError(t, err)
			for _, opts := range [][]ensure.Option{{ensure.Adopt()}, {ensure.Adopt()}, {owned}} {
				for _, e := range []*ensure.Ensurer{e, h.started()} {
					_, err = ensure.Object(t.Context(), e, h.parse(ourConfigMap), opts...)
					require.NoError(t, err)
					require.Regexp(t, "^v1-", h.settled(ourConfigMap).GetAnnotations()[digest])
				}
			}
			gone, err := ensure.Absent(t.Context(), e, h.parse(ourConfigMap), owned)
			require.NoError(t, err)
			require.Equal(t, ensure.Deleting, gone.Operation)
		})
	}
}
