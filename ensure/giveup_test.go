package ensure_test

import (
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ripemd160" //nolint:gosec,staticcheck // some operators store such digests
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// adoptedLabel is all that an operator wants of somebody else's ConfigMap.
func adoptedLabel() *corev1.ConfigMap {
	return with(named(), func(o *corev1.ConfigMap) { o.Labels = map[string]string{"app": "shop"} })
}

func appliedBy(obj client.Object, manager string) *metav1.ManagedFieldsEntry {
	return managedfields.Applied(obj, manager)
}

// giveUp has Absent give up an object, and requires that nothing of ours is left in it.
func giveUp(t *testing.T, s *apiServer, e *ensure.Ensurer, opts ...ensure.AbsentOption) ensure.Result[*corev1.ConfigMap] {
	t.Helper()
	result, err := ensure.Absent(t.Context(), e, named(), opts...)
	require.NoError(t, err)
	require.Equal(t, ensure.Released, result.Operation)
	require.Equal(t, ensure.Unwanted, result.Cause)
	left := live(t, s, named())
	require.Equal(t, map[string]string{"color": "green"}, left.Data)
	require.Empty(t, left.Labels["app"])
	require.Empty(t, left.Annotations)
	require.Nil(t, appliedBy(left, fieldOwner))
	return result
}

func TestAbsentGivesUpWhatWasAdopted(t *testing.T) {
	label := hash.Label("example.com/digest")
	boss := metav1.OwnerReference{APIVersion: "v1", Kind: "Boss", Name: "boss", UID: "uid-of-boss", Controller: new(true)}
	controlled := func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{boss} }
	for name, tc := range map[string]struct {
		reason   string
		found    func(*corev1.ConfigMap)
		show     view
		settings []ensure.Setting
		isOwned  bool
		mark     string
	}{
		"for nobody":             {"the annotation tells", func(*corev1.ConfigMap) {}, faithful, nil, false, "^adopt-v1-[0-9a-f]{32}$"},
		"for an owner":           {"likewise", func(*corev1.ConfigMap) {}, faithful, nil, true, "^adopt-v1-"},
		"without managed fields": {"they are not needed", func(*corev1.ConfigMap) {}, withoutManagedFields, nil, false, "^adopt-v1-"},
		"beside its controller":  {"which stays", controlled, faithful, nil, false, "^adopt-v1-"},
		"with a digest in labels": {
			"it has room for 40 digits", func(*corev1.ConfigMap) {}, faithful,
			[]ensure.Setting{ensure.WithDigest(hash.Using(ripemd160.New), label)},
			false, "^adopt-[0-9a-f]{40}$",
		},
		"with a long digest in labels": {
			"it has room for 56 digits", func(*corev1.ConfigMap) {}, faithful,
			[]ensure.Setting{ensure.WithDigest(hash.Using(sha256.New224), label)},
			false, "^adopt-[0-9a-f]{56}$",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(found(tc.found))
			restart := func() *ensure.Ensurer { return ensure.New(s.cached(tc.show), s, fieldOwner, tc.settings...) }
			var ours []ensure.Option
			var unwanted []ensure.AbsentOption
			if tc.isOwned {
				ours, unwanted = []ensure.Option{ensure.ControlledBy(shop())}, []ensure.AbsentOption{ensure.ControlledBy(shop())}
			}
			adopt := append([]ensure.Option{ensure.Adopt()}, ours...)
			mustEnsure(t, restart(), adoptedLabel(), adopt...)
			for range 2 {
				require.Equal(t, ensure.Unchanged, mustEnsure(t, restart(), adoptedLabel(), adopt...).Operation, "the mark is no part of the digest")
			}
			changed := with(adoptedLabel(), func(o *corev1.ConfigMap) { o.Labels["tier"] = "web" })
			require.Equal(t, ensure.DesiredChanged, mustEnsure(t, restart(), changed, adopt...).Cause)
			marked := live(t, s, named())
			require.Regexp(t, tc.mark, marked.Annotations[digestKey]+label.Get(marked), "each apply carries it")
			s.take()

			e := restart()
			planned, err := ensure.Absent(t.Context(), e, named(), append(unwanted, ensure.DryRun())...)
			require.NoError(t, err)
			require.Equal(t, ensure.Released, planned.Operation)
			s.take()
			result := giveUp(t, s, e, unwanted...)
			require.Contains(t, paths(result.Changes), "metadata.labels[app]")
			require.Len(t, writes(s.verbs()), 1, tc.reason)
			again := mustBeAbsent(t, e, named(), unwanted...)
			require.Equal(t, ensure.Released, again.Operation)
			require.Empty(t, s.verbs(), "once is enough")
			again = mustBeAbsent(t, restart(), named(), unwanted...)
			require.Equal(t, ensure.Released, again.Operation, "a finalizer that did not get so far asks again")
			require.Empty(t, writes(s.verbs()))

			_, err = ensure.Object(t.Context(), e, adoptedLabel(), ours...)
			require.ErrorIs(t, err, ensure.ErrForeign, "it is no longer ours")
			mustEnsure(t, e, adoptedLabel(), adopt...)
			giveUp(t, s, e, unwanted...)
		})
	}
}

// What shows that an object is ours, without a digest, does not show that we made it.
func TestWhatLostItsDigestCountsAsAdopted(t *testing.T) {
	strip := `{"metadata":{"annotations":{"` + digestKey + `":null}}}`
	s := newServer(found(func(*corev1.ConfigMap) {}))
	e := newEnsurer(s)
	mustEnsure(t, e, adoptedLabel(), ensure.Adopt())
	s.edit(t, named(), strip)
	require.Equal(t, ensure.Drifted, mustEnsure(t, newEnsurer(s), adoptedLabel()).Cause)
	require.Regexp(t, "^adopt-", live(t, s, named()).Annotations[digestKey])
	s.edit(t, named(), strip)
	giveUp(t, s, newEnsurer(s))

	s = newServer(found(func(*corev1.ConfigMap) {}))
	e = newEnsurer(s)
	mustEnsure(t, e, adoptedLabel(), ensure.Adopt(), ensure.ControlledBy(shop()))
	s.edit(t, named(), strip)
	mustEnsure(t, newEnsurer(s), adoptedLabel(), ensure.ControlledBy(shop()))
	giveUp(t, s, newEnsurer(s), ensure.ControlledBy(shop()))

	s = newServer()
	e = newEnsurer(s)
	mustEnsure(t, e, configMap(), ensure.ControlledBy(shop()))
	s.edit(t, named(), strip)
	mustEnsure(t, e, configMap(), ensure.ControlledBy(shop()))
	require.Regexp(t, "^v1-", live(t, s, named()).Annotations[digestKey], "this Ensurer knows that it made it")
}

// The digest is where the default store keeps it.
func TestAnotherStoreKnowsTheOldDigest(t *testing.T) {
	setting := ensure.WithDigest(hash.Default(), hash.Label("example.com/digest"))
	for name, tc := range map[string]struct {
		found *corev1.ConfigMap
		opts  []ensure.Option
		want  ensure.Operation
	}{
		"made":    {nil, nil, ensure.Deleting},
		"adopted": {configMap(), []ensure.Option{ensure.Adopt()}, ensure.Released},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			if tc.found != nil {
				s = newServer(tc.found)
			}
			mustEnsure(t, newEnsurer(s), configMap(), tc.opts...)
			mustEnsure(t, newEnsurer(s, setting), configMap())
			result, err := ensure.Absent(t.Context(), newEnsurer(s, setting), named())
			require.NoError(t, err)
			require.Equal(t, tc.want, result.Operation)
		})
	}
}

// A reference to our owner that no update has set, and no program named by MigrateFrom, is left
// from an adoption. It goes, as the object would go with the owner.
func TestAbsentOfWhatOnlyItsControllerShows(t *testing.T) {
	for name, tc := range map[string]struct {
		owns string // what another program's update set
		want ensure.Operation
	}{
		"nobody's reference":  {`{"f:data":{"f:color":{}}}`, ensure.Released},
		"an update set it":    {`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"uid-of-shop\"}":{}}}}`, ensure.Deleting},
		"another's reference": {`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"other\"}":{}}}}`, ensure.Released},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(found(func(o *corev1.ConfigMap) {
				theirs := entry("kubectl-create", metav1.ManagedFieldsOperationUpdate)
				theirs.FieldsV1 = managedfields.NewFields(tc.owns)
				o.OwnerReferences, o.ManagedFields = []metav1.OwnerReference{shopRef()}, []metav1.ManagedFieldsEntry{theirs}
			}))
			result, err := ensure.Absent(t.Context(), newEnsurer(s), named(), ensure.ControlledBy(shop()))
			require.NoError(t, err)
			require.Equal(t, tc.want, result.Operation)
			if tc.want == ensure.Released {
				require.Empty(t, live(t, s, configMap()).OwnerReferences)
			}
		})
	}
}

func TestDeleteAdopted(t *testing.T) {
	s := newServer(found(func(*corev1.ConfigMap) {}))
	mustEnsure(t, newEnsurer(s), adoptedLabel(), ensure.Adopt())
	require.Equal(t, ensure.Deleting, mustBeAbsent(t, newEnsurer(s), named(), ensure.DeleteAdopted()).Operation)

	boss := metav1.OwnerReference{APIVersion: "v1", Kind: "Boss", Name: "boss", UID: "uid-of-boss", Controller: new(true)}
	s = newServer(found(func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{boss} }))
	mustEnsure(t, newEnsurer(s), adoptedLabel(), ensure.Adopt())
	result := giveUp(t, s, newEnsurer(s), ensure.DeleteAdopted())
	require.Equal(t, "boss", result.Live.OwnerReferences[0].Name, "another controls it")
}

func TestPruneGivesUpWhatWasAdopted(t *testing.T) {
	prune := ensure.Prune(&corev1.ConfigMap{})
	for name, pruning := range map[string]ensure.Pruning{"given up": prune, "deleted": prune.DeleteAdopted()} {
		t.Run(name, func(t *testing.T) {
			s := newServer(found(func(*corev1.ConfigMap) {}))
			e := newEnsurer(s)
			adopted := adoptedLabel()
			_, err := ensure.Set(t.Context(), e, shop(), []client.Object{adopted}, ensure.OnlyFor(adopted, ensure.Adopt()))
			require.NoError(t, err)
			results, err := ensure.Set(t.Context(), e, shop(), nil, pruning)
			require.NoError(t, err)
			require.Len(t, results.Pruned, 1)
			require.Equal(t, ensure.Unwanted, results.Pruned[0].Cause)
			if name == "deleted" {
				require.Equal(t, ensure.Deleting, results.Pruned[0].Operation)
				return
			}
			require.Equal(t, ensure.Released, results.Pruned[0].Operation)
			require.Empty(t, live(t, s, named()).OwnerReferences)
			results, err = ensure.Set(t.Context(), e, shop(), nil, prune)
			require.NoError(t, err)
			require.Empty(t, results.Pruned)
		})
	}
}

func TestWhatWasAdoptedIsNotRecreated(t *testing.T) {
	s := newServer(configMap())
	mustEnsure(t, newEnsurer(s), configMap(), ensure.Adopt())
	s.answers = []error{refused("data"), nil}
	changed := with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" })
	_, err := ensure.Object(t.Context(), newEnsurer(s), changed, ensure.Recreate(metav1.DeletePropagationBackground))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.NotContains(t, s.verbs(), "delete")
}

// What the API server does not let go keeps its value and is nobody's.
func TestContentThatCannotGoStays(t *testing.T) {
	s := newServer(found(func(*corev1.ConfigMap) {}))
	mustEnsure(t, newEnsurer(s), with(adoptedLabel(), func(o *corev1.ConfigMap) { o.Data = map[string]string{"color": "green"} }), ensure.Adopt())
	s.take()
	s.answers = []error{refused("data")}
	giveUp(t, s, newEnsurer(s))
	require.Empty(t, cmp.Diff([]string{"get", "apply", entryPatch, "apply"}, s.verbs()))
}

// A cache may still show the object as before its adoption.
func TestWhatACacheDoesNotShowIsGivenUp(t *testing.T) {
	before := found(func(*corev1.ConfigMap) {})
	s := newServer(before)
	mustEnsure(t, newEnsurer(s), adoptedLabel(), ensure.Adopt())
	uid := live(t, s, named()).UID
	behind := s.cached(func(client.Object) client.Object {
		return with(before.DeepCopy(), func(o *corev1.ConfigMap) {
			o.UID, o.ResourceVersion = uid, "1"
			o.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", metav1.ManagedFieldsOperationUpdate)}
		})
	})
	e := ensure.New(behind, s, fieldOwner)
	giveUp(t, s, e)
	s.take()
	require.Equal(t, ensure.Released, mustBeAbsent(t, e, named()).Operation)
	require.Empty(t, s.verbs())
}

// Each request of giving up may be the last of its process.
func TestGivingUpIsFinishedByTheNextPass(t *testing.T) {
	down := status(503, metav1.StatusReasonServiceUnavailable)
	for name, answers := range map[string][]error{
		"the apply": {down}, "the patch": {refused("data"), down}, "the second apply": {refused("data"), nil, down},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(found(func(*corev1.ConfigMap) {}))
			mustEnsure(t, newEnsurer(s), with(adoptedLabel(), func(o *corev1.ConfigMap) { o.Data = map[string]string{"color": "green"} }), ensure.Adopt())
			s.answers = answers
			_, err := ensure.Absent(t.Context(), newEnsurer(s), named())
			require.ErrorIs(t, err, ensure.ErrAPI)
			if len(answers) < 3 {
				s.answers = []error{refused("data")}
			}
			giveUp(t, s, newEnsurer(s))
		})
	}
}

func TestAbsentOfWhatWasReplacedLooksOnceMore(t *testing.T) {
	s := newServer(found(func(*corev1.ConfigMap) {}))
	mustEnsure(t, newEnsurer(s), adoptedLabel(), ensure.Adopt())
	s.before = func(verb string) {
		if verb == "apply" {
			s.before = nil
			s.remove(t, named())
		}
	}
	require.Equal(t, ensure.Gone, mustBeAbsent(t, newEnsurer(s), named()).Operation)
}

// Another field owner may work for the same owner.
func TestWhatAnotherAppliedForTheSameOwnerIsForeign(t *testing.T) {
	const ref = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"uid-of-shop\"}":{}}}}`
	by := func(operation metav1.ManagedFieldsOperationType) *corev1.ConfigMap {
		return found(func(o *corev1.ConfigMap) {
			o.OwnerReferences = []metav1.OwnerReference{shopRef()}
			theirs := entry("neighbour", operation)
			theirs.FieldsV1 = managedfields.NewFields(ref)
			o.ManagedFields = []metav1.ManagedFieldsEntry{theirs}
		})
	}
	owned := ensure.ControlledBy(shop())
	for _, show := range []view{faithful, withoutManagedFields} {
		s := newServer(by(metav1.ManagedFieldsOperationApply))
		e := ensure.New(s.cached(show), s, fieldOwner)
		_, err := ensure.Object(t.Context(), e, configMap(), owned)
		require.ErrorIs(t, err, ensure.ErrForeign)
		require.ErrorContains(t, err, "applied for the same owner by neighbour")
		require.Equal(t, ensure.Released, mustBeAbsent(t, e, named(), owned).Operation)
		require.Empty(t, writes(s.verbs()))

		result := mustEnsure(t, e, configMap(), owned, ensure.Adopt())
		require.Equal(t, ensure.Adopted, result.Cause)
		require.Regexp(t, "^adopt-", result.Live.Annotations[digestKey])
	}
	s := newServer(by(metav1.ManagedFieldsOperationApply))
	mustEnsure(t, newEnsurer(s), configMap(), owned, ensure.MigrateFrom("neighbour"))

	s = newServer(by(metav1.ManagedFieldsOperationUpdate))
	result := mustEnsure(t, newEnsurer(s), configMap(), owned)
	require.Regexp(t, "^v1-", result.Live.Annotations[digestKey], "an earlier version of this operator made it")
}

func TestGivingUpWhereVersionsCannotBeConvertedTo(t *testing.T) {
	refusal, down := quoting(unconvertible, 500, ""), status(503, metav1.StatusReasonServiceUnavailable)
	for name, tc := range map[string]struct {
		answers []error
		readErr error
		patches []string
		want    error
	}{
		"they are rewritten": {[]error{refusal}, nil, []string{"apply", "patch", "apply"}, nil},
		"the read fails":     {[]error{refusal}, down, []string{"apply"}, down},
		"the patch fails":    {[]error{refusal, down}, nil, []string{"apply", "patch"}, down},
	} {
		t.Run(name, func(t *testing.T) {
			o := &outdated{apiServer: newServer(found(func(*corev1.ConfigMap) {}))}
			mustEnsure(t, newEnsurer(o.apiServer), adoptedLabel(), ensure.Adopt())
			o.answers, o.readErr = tc.answers, tc.readErr
			c := o.client()
			result, err := ensure.Absent(t.Context(), ensure.New(c, c, fieldOwner), named())
			require.ErrorIs(t, err, tc.want)
			require.Empty(t, cmp.Diff(tc.patches, o.patches))
			if tc.want == nil {
				require.Equal(t, ensure.Released, result.Operation)
			}
		})
	}
	s := newServer(found(func(*corev1.ConfigMap) {}))
	mustEnsure(t, newEnsurer(s), adoptedLabel(), ensure.Adopt())
	s.answers = []error{refusal}
	_, err := ensure.Absent(t.Context(), newEnsurer(s), named())
	require.ErrorIs(t, err, refusal, "no entry is of another version")
}
