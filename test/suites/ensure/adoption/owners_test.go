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

// A sharedChildCase is a child of one owner that another owner of the same operator names, too.
type sharedChildCase struct {
	adopted bool
	opts    []ensure.Option
	then    func(f *fixture) *ensure.Ensurer // after the child is made; nil for nothing
	want    ensure.Operation                 // once its owner no longer wants it
}

var sharedChildCases = map[string]sharedChildCase{
	"adopted":              {true, []ensure.Option{ensure.Adopt()}, nil, ensure.Released},
	"made":                 {false, nil, nil, ensure.Deleting},
	"made once":            {false, []ensure.Option{ensure.IfMissing()}, nil, ensure.Deleting},
	"made, without digest": {false, nil, withoutItsDigest, ensure.Released},
	"made, with another store": {false, nil, func(f *fixture) *ensure.Ensurer {
		return ensure.New(f.client, f.reader, fieldOwner, ensure.WithDigest(hash.Default(), digestLabel))
	}, ensure.Deleting},
}

// withoutItsDigest removes the digest of a child as the admin.
func withoutItsDigest(f *fixture) *ensure.Ensurer {
	f.merge(ourConfigMap, `{"metadata":{"annotations":{"`+digest+`":null}}}`)
	return f.started()
}

// merge patches an object as the admin.
func (f *fixture) merge(text, patch string) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Patch(f.t.Context(), f.parseUntyped(text), client.RawPatch(types.MergePatchType, []byte(patch))))
	f.settled(text)
}

// TestAnotherOwnerWantsNone: Absent for another owner writes nothing and removes no owner
// reference. Absent for the child's own owner works as before.
func TestAnotherOwnerWantsNone(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]access{"plain": plain, "stripped": stripped} {
		for name, n := range sharedChildCases {
			for _, isOwned := range []bool{true, false} {
				t.Run(way+"/"+name+map[bool]string{true: "/by an owner", false: "/by nobody"}[isOwned], func(t *testing.T) {
					t.Parallel()
					n.run(newFixture(t, true, open), isOwned)
				})
			}
		}
	}
}

func (n sharedChildCase) run(f *fixture, isOwned bool) {
	f.t.Helper()
	var others []ensure.AbsentOption
	if isOwned {
		others = append(others, ensure.ControlledBy(f.newOwner("other")))
	}
	if n.adopted {
		f.create(theirConfigMap)
	}
	owned, e := ensure.ControlledBy(f.owner), f.started()
	_, err := ensure.Object(f.t.Context(), e, f.parse(ourConfigMap), append(n.opts, owned)...)
	require.NoError(f.t, err)
	before := specified(f.settled(ourConfigMap))
	if n.then != nil {
		e = n.then(f)
		before = specified(f.settled(ourConfigMap))
	}
	for range 2 {
		mark := shared.Mark()
		gone, err := ensure.Absent(f.t.Context(), e, f.parse(ourConfigMap), others...)
		require.NoError(f.t, err)
		require.Equal(f.t, ensure.Released, gone.Operation)
		require.Empty(f.t, gone.Cause)
		require.Zero(f.t, f.writes(mark))
		require.Empty(f.t, cmp.Diff(before, specified(f.settled(ourConfigMap))))
	}
	gone, err := ensure.Absent(f.t.Context(), e, f.parse(ourConfigMap), owned)
	require.NoError(f.t, err)
	require.Equal(f.t, n.want, gone.Operation)
	require.Equal(f.t, ensure.Unwanted, gone.Cause)
}

// TestAnotherOwnerDoesNotEndAContest that is over a child of the first one.
func TestAnotherOwnerDoesNotEndAContest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, plain)
	e, other := f.started(), ensure.ControlledBy(f.newOwner("other"))
	desired := `{apiVersion: v1, kind: ConfigMap, data: {colour: green}}`
	var err error
	for range 8 {
		if _, err = ensure.Object(t.Context(), e, f.parse(desired), ensure.ControlledBy(f.owner)); err != nil {
			break
		}
		f.merge(desired, `{"data":{"colour":"red"}}`)
		_, err = ensure.Absent(t.Context(), e, f.parse(desired), other)
		require.NoError(t, err)
	}
	require.ErrorIs(t, err, ensure.ErrContested)
}

// TestAbsentOfWhatNamesItsController: Absent deletes the object that Object makes from the same
// desired state. A controller of the live object does not change this.
func TestAbsentOfWhatNamesItsController(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, stripped)
	desired := func() client.Object {
		obj := f.parse(ourConfigMap)
		require.NoError(t, controllerutil.SetControllerReference(f.owner, obj, f.admin.Scheme()))
		return obj
	}
	e := f.started()
	made, err := ensure.Object(t.Context(), e, desired())
	require.NoError(t, err)
	gone, err := ensure.Absent(t.Context(), f.started(), made.Live)
	require.NoError(t, err)
	require.Equal(t, ensure.Released, gone.Operation)
	for _, opt := range []ensure.AbsentOption{ensure.DryRun(), ensure.Propagation("")} {
		gone, err = ensure.Absent(t.Context(), e, desired(), opt)
		require.NoError(t, err)
		require.Equal(t, ensure.Deleting, gone.Operation)
	}
	require.Eventually(t, func() bool {
		return apierrors.IsNotFound(f.admin.Get(t.Context(), client.ObjectKeyFromObject(made.Live), &corev1.ConfigMap{}))
	}, limit, 100*time.Millisecond)
}

// TestOursBesideItsOwner: another part of the operator applies with Adopt to a child that we made
// for an owner. The child stays ours to delete.
func TestOursBesideItsOwner(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]access{"plain": plain, "stripped": stripped} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, true, open)
			e, owned := f.started(), ensure.ControlledBy(f.owner)
			_, err := ensure.Object(t.Context(), e, f.parse(ourConfigMap), owned)
			require.NoError(t, err)
			for _, opts := range [][]ensure.Option{{ensure.Adopt()}, {ensure.Adopt()}, {owned}} {
				for _, e := range []*ensure.Ensurer{e, f.started()} {
					_, err = ensure.Object(t.Context(), e, f.parse(ourConfigMap), opts...)
					require.NoError(t, err)
					require.Regexp(t, "^v1-", f.settled(ourConfigMap).GetAnnotations()[digest])
				}
			}
			gone, err := ensure.Absent(t.Context(), e, f.parse(ourConfigMap), owned)
			require.NoError(t, err)
			require.Equal(t, ensure.Deleting, gone.Operation)
		})
	}
}
