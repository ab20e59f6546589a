package ensure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
)

// moody is a server's reader that answers every read with what refusal returns, if that is not nil.
func moody(s *apiServer, refusal func() error) client.Client {
	return interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			if err := refusal(); err != nil {
				return err
			}
			return s.peek(ctx, key, obj)
		},
	})
}

// A scene is a server with an operator whose cache strips managed fields, so that it has to
// ask the server who wrote what.
type scene struct {
	*apiServer

	e       *ensure.Ensurer
	clock   *clocktesting.FakePassiveClock
	refusal error // of reads from the server
}

func newScene(s *apiServer) *scene {
	out := &scene{apiServer: s, clock: newClock()}
	lists := listing(s, func(_ int, obj client.Object) { obj.SetManagedFields(nil) })
	out.e = ensure.New(stripping{s.cached(withoutManagedFields), lists}, moody(s, func() error { return out.refusal }), fieldOwner,
		withClock(out.clock))
	return out
}

// stripping is a client whose lists come from elsewhere.
type stripping struct {
	client.Client
	lists client.Client
}

func (s stripping) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return s.lists.List(ctx, list, opts...)
}

// A read in the midst of a call may fail: nothing is written then, and once the server answers
// again the same call does what it was to do.
func TestARefusedReadInTheMidst(t *testing.T) {
	object := func(desired client.Object, opts ...ensure.Option) func(context.Context, *ensure.Ensurer) (ensure.Operation, error) {
		return func(ctx context.Context, e *ensure.Ensurer) (ensure.Operation, error) {
			result, err := ensure.Object(ctx, e, desired, opts...)
			return result.Operation, err
		}
	}
	for name, tc := range map[string]struct {
		reason string
		given  func(t *testing.T, s *scene)
		call   func(context.Context, *ensure.Ensurer) (ensure.Operation, error)
		before []string // writes until then
		after  []string
		want   ensure.Operation
	}{
		"absent": {
			"is it ours?",
			func(t *testing.T, s *scene) {
				t.Helper()
				created(t, s.apiServer, configMap())
				s.edit(t, configMap(), `{"metadata":{"annotations":null}}`) // only the managed fields tell
			},
			func(ctx context.Context, e *ensure.Ensurer) (ensure.Operation, error) {
				result, err := ensure.Absent(ctx, e, named())
				return result.Operation, err
			},
			nil,
			[]string{"apply"},
			ensure.Released,
		},
		"prune": {
			"is it a member, or is the digest a copy?",
			func(t *testing.T, s *scene) {
				t.Helper()
				created(t, s.apiServer, configMap(), ensure.ControlledBy(shop()))
			},
			func(ctx context.Context, e *ensure.Ensurer) (ensure.Operation, error) {
				results, err := ensure.Set(ctx, e, shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
				if err != nil {
					return "", err
				}
				return results.Pruned[0].Operation, nil
			},
			nil,
			[]string{"delete"},
			ensure.Deleting,
		},
		"release": {
			"what do we own?",
			func(t *testing.T, s *scene) { t.Helper(); created(t, s.apiServer, fivePods()) },
			object(deployment(), ensure.Release("spec.replicas")), nil,
			[]string{entryPatch, "apply"},
			ensure.Updated,
		},
		"recreate": {
			"did others change what cannot be changed back?",
			func(t *testing.T, s *scene) {
				t.Helper()
				created(t, s.apiServer, fixed())
				s.edit(t, fixed(), `{"spec":{"type":"ClusterIP"}}`)
				s.answers = []error{refused("spec"), nil}
			},
			object(fixed(), ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift)),
			nil,
			[]string{"apply", "fields", "dry run", "delete", "create"},
			ensure.Recreated,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(newServer())
			tc.given(t, s)
			s.take()
			s.refusal = status(429, metav1.StatusReasonTooManyRequests)
			_, err := tc.call(t.Context(), s.e)
			require.ErrorIs(t, err, ensure.ErrAPI, tc.reason)
			require.ErrorIs(t, err, s.refusal)
			require.ErrorContains(t, err, "cannot read ")
			require.Empty(t, cmp.Diff(tc.before, writes(s.verbs())), "nothing is written unseen")

			s.refusal = nil
			s.clock.SetTime(s.clock.Now().Add(time.Minute))
			operation, err := tc.call(t.Context(), s.e)
			require.NoError(t, err)
			require.Equal(t, tc.want, operation)
			require.Empty(t, cmp.Diff(tc.after, writes(s.verbs())))
		})
	}
}

// Before a revert, a read shows who wrote. If the read fails, nothing is reverted: the
// write would take the fields from whoever wrote them.
func TestARefusedReadBeforeAContest(t *testing.T) {
	a := newArena(t, withoutManagedFields)
	var refusal error
	a.e = ensure.New(a.cached(withoutManagedFields), moody(a.apiServer, func() error { return refusal }), fieldOwner, withClock(a.clock))
	mustEnsure(t, a.e, configMap())
	for range 4 {
		a.paint()
		a.requireNone(configMap(), ensure.Updated)
	}
	a.paint()
	a.take()
	refusal = status(429, metav1.StatusReasonTooManyRequests)
	_, err := ensure.Object(t.Context(), a.e, configMap())
	require.ErrorIs(t, err, refusal)
	require.Empty(t, a.verbs())

	refusal = nil
	a.wait(5 * time.Second)
	_, contested := a.pass(configMap())
	require.NotNil(t, contested, "it is a contest all the same")
	require.Equal(t, []string{"data[color]"}, contested.Paths)
}

// Some entries have no time. They count as the oldest.
func TestARivalWithoutATime(t *testing.T) {
	a := newArena(t, func(live client.Object) client.Object {
		if live == nil {
			return nil
		}
		entries := live.GetManagedFields()
		for i := range entries {
			entries[i].Time = nil
		}
		live.SetManagedFields(entries)
		return live
	})
	mustEnsure(t, a.e, configMap())
	a.addKey(t, "neighbour", "theirs")
	a.begin(configMap(), a.paint)
	require.Equal(t, "kubectl-edit", a.said.Rival, "it owns what was undone")
}

// The old one takes its time to go, so the new one is made by a later pass. What that undoes
// counts like any other.
func TestRecreationsThatWaitAreAContest(t *testing.T) {
	a := newArena(t, faithful)
	mustEnsure(t, a.e, fixed())
	contests := countContests(t, 8, func() error {
		a.edit(t, fixed(), `{"metadata":{"finalizers":["example.com/wait"]},"spec":{"type":"ClusterIP"}}`)
		if err := a.recreates(a.e, fixed()); !errors.Is(err, ensure.ErrTerminating) {
			return err
		}
		a.edit(t, fixed(), `{"metadata":{"finalizers":null}}`)
		_, err := ensure.Object(t.Context(), a.e, fixed(), ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift))
		return err
	})
	require.Equal(t, 4, contests, "from the fifth on")
}

// A port that desired does not have cannot be what stands in the way.
func TestRecreateIsNotForAPortOfOthers(t *testing.T) {
	s := newServer()
	created(t, s, fixed())
	s.answers = []error{refused("spec"), refused("spec.ports[7].nodePort")}
	affinity := with(fixed(), func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	_, err := ensure.Object(t.Context(), newEnsurer(s), affinity, ensure.Recreate(metav1.DeletePropagationBackground))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "fields", "dry run"}, s.verbs()))
}

// Managed fields were handed over, then the apply fails: a later pass applies.
func TestAnApplyThatFailsBehindAHandover(t *testing.T) {
	s, clock := newServer(), newClock()
	s.createOld(t, legacyConfigMap())
	e := newEnsurer(s, withClock(clock))
	refusal := status(429, metav1.StatusReasonTooManyRequests)
	s.answers = []error{nil, nil, refusal}
	_, err := ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager), ensure.Retire("data[dropped]"))
	require.ErrorIs(t, err, refusal)
	require.Empty(t, cmp.Diff([]string{"get", "get", "fields", "trial", entryPatch, "apply"}, s.verbs()))
	require.Equal(t, "x", live(t, s, configMap()).Data["dropped"])

	clock.SetTime(clock.Now().Add(25 * time.Second)) // five for each request but the first read
	require.NotContains(t, retired(t, e).Live.Data, "dropped")
	require.Empty(t, cmp.Diff([]string{"get", "apply", entryPatch}, s.verbs()))
}

// While a call backs off, it rehearses nothing and writes nothing.
func TestNoRehearsalDuringTheBackOff(t *testing.T) {
	s, clock := newServer(), newClock()
	s.createOld(t, legacyConfigMap())
	e := newEnsurer(s, withClock(clock))
	refusal := status(429, metav1.StatusReasonTooManyRequests)
	s.answers = []error{nil, refusal}
	retire := func() error {
		_, err := ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager), ensure.Retire("data[dropped]"))
		return err
	}
	require.ErrorIs(t, retire(), refusal)
	require.Empty(t, cmp.Diff([]string{"get", "get", "fields", "trial", entryPatch}, s.verbs()))
	require.ErrorIs(t, retire(), refusal)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()), "the cache is read")

	clock.SetTime(clock.Now().Add(time.Minute))
	require.NoError(t, retire())
}

// Digests of other operators are no part of what desired specifies, yet they are sent.
func TestDigestsThatCannotBeSent(t *testing.T) {
	s := newServer()
	desired := with(configMap(), func(o *corev1.ConfigMap) {
		o.Annotations = map[string]string{"spec-hash.trueup-go.github.io/\xff": "a", "spec-hash.trueup-go.github.io/\xfe": "b"}
	})
	_, err := ensure.Object(t.Context(), newEnsurer(s), desired)
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.ErrorContains(t, err, "cannot be encoded: metadata.annotations: two keys are")
	require.Empty(t, writes(s.verbs()))
}

// The copy that was stripped of its managed fields may be of an object that is gone: what is
// there now is dealt with.
func TestReleaseFromASuccessor(t *testing.T) {
	s := newServer()
	stale := withoutManagedFields(created(t, s, fivePods()))
	s.remove(t, fivePods())
	created(t, s, fivePods())
	result := mustEnsure(t, ensure.New(s.cached(frozen(stale)), s, fieldOwner), deployment(), ensure.Release("spec.replicas"))
	require.Equal(t, ensure.Updated, result.Operation)
	require.NotEqual(t, stale.GetUID(), result.Live.UID)
	require.Equal(t, int32(5), *result.Live.Spec.Replicas)
	require.Empty(t, cmp.Diff([]string{"get", "get", entryPatch, "apply"}, s.verbs()))
}

func TestPruneOfAListThatIsRefused(t *testing.T) {
	s := newServer()
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	refusal := status(403, metav1.StatusReasonForbidden)
	c := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refusal },
	})
	results, err := ensure.Set(t.Context(), ensure.New(c, s, fieldOwner, sensitiveConfigMaps()), shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
	require.ErrorIs(t, err, refusal)
	require.ErrorContains(t, err, "cannot list ConfigMap")
	require.ErrorContains(t, err, "a permission is missing (list on its kind, and watch for a cache)")
	require.Empty(t, results.Pruned)
	require.Empty(t, s.verbs())
}

// What a cache without managed fields still lists may be gone.
func TestPruneOfWhatIsGone(t *testing.T) {
	s := newServer()
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	c := listing(s, func(_ int, obj client.Object) {
		obj.SetManagedFields(nil)
		s.remove(t, obj)
	})
	pruned := prune(t, ensure.New(c, s, fieldOwner), nil)
	require.Len(t, pruned, 1)
	require.Equal(t, ensure.Gone, pruned[0].Operation)
	require.Equal(t, "settings", pruned[0].Live.GetName(), "as it was last seen")
	require.Empty(t, cmp.Diff([]string{"get", "get"}, s.verbs()), "the owner, and what the cache has shown")
}

// Between our read and our apply another's delete may come.
func TestDeletionBeginsBeforeTheApply(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	s.edit(t, configMap(), `{"metadata":{"finalizers":["example.com/wait"]},"data":{"color":"red"}}`)
	c := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Patch: func(ctx context.Context, below client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			err := below.Patch(ctx, obj, patch, opts...)
			obj.SetDeletionTimestamp(new(metav1.Now())) // no fake client applies to what is going
			return err
		},
	})
	_, err := ensure.Object(t.Context(), ensure.New(c, s, fieldOwner), configMap())
	require.ErrorIs(t, err, ensure.ErrTerminating)
	require.ErrorContains(t, err, "its deletion began meanwhile")
	require.Empty(t, cmp.Diff([]string{"get", "apply"}, s.verbs()))
}

// Answers that say by another name that the object is not what was read: it is read again.
func TestConflictsByAnotherName(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		text   string
	}{
		"a finalizer comes too late": {
			status(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeForbidden, "metadata.finalizers")), "its deletion began meanwhile",
		},
		"another became the controller": {
			status(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeFieldValueInvalid, "metadata.ownerReferences")),
			"it got another controller meanwhile",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap(), ensure.ControlledBy(shop()))
			desired := with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" })
			s.answers = []error{tc.answer}
			require.Equal(t, ensure.Updated, mustEnsure(t, newEnsurer(s), desired, ensure.ControlledBy(shop())).Operation)
			require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "apply"}, s.verbs()))

			desired.Data["color"] = "green"
			s.answers = []error{tc.answer, tc.answer}
			_, err := ensure.Object(t.Context(), newEnsurer(s), desired, ensure.ControlledBy(shop()))
			require.Equal(t, "Conflict", ensure.Reason(err))
			require.ErrorContains(t, err, tc.text)
			require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "apply"}, s.verbs()), "once")
		})
	}
}

func TestANamespaceThatIsNotThere(t *testing.T) {
	s := newServer()
	missing := status(404, metav1.StatusReasonNotFound)
	missing.ErrStatus.Details = &metav1.StatusDetails{Name: "default", Kind: "namespaces"}
	s.answers = []error{missing}
	_, err := ensure.Object(t.Context(), newEnsurer(s), configMap())
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.Equal(t, "NotFound", ensure.Reason(err))
	require.ErrorContains(t, err, "its namespace does not exist")
}

// fussy is a store that takes no digest of the ConfigMap called settings.
type fussy struct{ hash.Store }

var errFull = errors.New("it is full")

func (f fussy) Set(obj metav1.Object, digest string) error {
	if obj.GetName() == "settings" && digest != "" {
		return errFull
	}
	return f.Store.Set(obj, digest)
}

func TestAStoreThatRefusesAnObject(t *testing.T) {
	s := newServer()
	e := newEnsurer(s, ensure.WithDigest(hash.Default(), fussy{hash.DefaultStore(fieldOwner)}))
	require.Equal(t, ensure.Created, mustEnsure(t, e, called("others")).Operation)
	s.take()
	for name, opts := range map[string][]ensure.Option{"to send it": nil, "to compare it": {ensure.Release("data[theirs]")}} {
		_, err := ensure.Object(t.Context(), e, configMap(), opts...)
		require.ErrorIs(t, err, ensure.ErrRefused, name)
		require.ErrorContains(t, err, "it is full", name)
		require.Empty(t, writes(s.verbs()), name)
	}
}

func TestAFieldIsNamedOnce(t *testing.T) {
	s := newServer()
	s.answers = []error{quoting(misfit+"errors:\n"+
		"  .spec.colour: field not declared in schema\n  .spec.colour: field not declared in schema", 500, "")}
	_, err := ensure.Object(t.Context(), newEnsurer(s), configMap())
	var failed *ensure.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, []string{"spec.colour"}, failed.Paths)
}

// A client, or what it calls, may look for what the caller put into the context: a trace, say.
func TestTheContextIsPassedOn(t *testing.T) {
	type key struct{}
	s := newServer()
	var seen any
	c := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, below client.WithWatch, name client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			seen = ctx.Value(key{})
			return below.Get(ctx, name, obj, opts...)
		},
	})
	_, err := ensure.Object(context.WithValue(t.Context(), key{}, "trace"), ensure.New(c, s, fieldOwner), configMap())
	require.NoError(t, err)
	require.Equal(t, "trace", seen)
}

// gizmo is unstructured content under a Go type of its own, as some frameworks have it.
type gizmo struct{ unstructured.Unstructured }

func (g *gizmo) DeepCopyObject() runtime.Object {
	return &gizmo{*g.DeepCopy()}
}

func TestUnstructuredOfAnotherType(t *testing.T) {
	s := newServer()
	desired := &gizmo{*unstructuredConfigMap()}
	before := desired.DeepCopyObject()
	e := newEnsurer(s)
	result := mustEnsure(t, e, desired, ensure.ControlledBy(shop()))
	require.Equal(t, ensure.Created, result.Operation)
	require.Equal(t, "uid-of-shop", string(result.Live.GetOwnerReferences()[0].UID))
	require.Empty(t, cmp.Diff(before, desired), "it is not changed")
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired, ensure.ControlledBy(shop())).Operation)
	require.Empty(t, cmp.Diff([]string{"get", "create", "get"}, s.verbs()))
}
