package ensure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/internal/managedfields"
)

func called(name string) *corev1.ConfigMap {
	return with(configMap(), func(o *corev1.ConfigMap) { o.Name = name })
}

// prune is a pass of a Set that wants nothing any more but these.
func prune(t *testing.T, e *ensure.Ensurer, wanted []client.Object, opts ...ensure.SetOption) []ensure.Result[client.Object] {
	t.Helper()
	results, err := ensure.Set(t.Context(), e, shop(), wanted, append(opts, ensure.Prune(&corev1.ConfigMap{}))...)
	require.NoError(t, err)
	return results.Pruned
}

func namesOf(results []ensure.Result[client.Object]) []string {
	var names []string
	for _, result := range results {
		names = append(names, result.Live.GetName())
	}
	return names
}

func TestPruneDeletesExactlyWhatItMay(t *testing.T) {
	digested := map[string]string{digestKey: "v1-00000000000000000000000000000000"}
	controlled := []metav1.OwnerReference{shopRef()}
	s := newServer(
		with(called("theirs"), func(o *corev1.ConfigMap) { o.OwnerReferences = controlled }),
		with(called("copied"), func(o *corev1.ConfigMap) {
			o.OwnerReferences, o.Annotations = controlled, digested
			o.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
				FieldsType: "FieldsV1", FieldsV1: managedfields.NewFields(`{"f:data":{"f:color":{}}}`),
			}}
		}),
		with(called("nobody's"), func(o *corev1.ConfigMap) { o.Annotations = digested }),
	)
	previous := shop()
	previous.UID = "uid-of-previous-shop"
	elsewhere := with(shop(), func(o *Shop) { o.Namespace = "elsewhere" })
	created(t, s, called("wanted"), ensure.ControlledBy(shop()))
	created(t, s, called("old"), ensure.ControlledBy(shop()))
	created(t, s, called("previous-owner's"), ensure.ControlledBy(previous))
	created(t, s, called("uncontrolled"))
	created(t, s, with(called("elsewhere"), func(o *corev1.ConfigMap) { o.Namespace = "elsewhere" }), ensure.ControlledBy(elsewhere))
	_, err := ensure.Object(t.Context(), ensure.New(s, s, "other-operator"), called("another-operator's"), ensure.ControlledBy(shop()))
	require.NoError(t, err)
	old := live(t, s, called("old"))
	s.take()

	pruned := prune(t, ensure.New(s.cached(faithful), s, fieldOwner), []client.Object{called("wanted")})
	require.Equal(t, []string{"old"}, namesOf(pruned))
	require.Equal(t, ensure.Deleting, pruned[0].Operation)
	deletes := removals(s.take())
	require.Len(t, deletes, 1)
	require.Equal(t, old.UID, *deletes[0].Preconditions.UID)
	require.Equal(t, old.ResourceVersion, *deletes[0].Preconditions.ResourceVersion)
	require.Equal(t, metav1.DeletePropagationBackground, *deletes[0].PropagationPolicy)
	left := &corev1.ConfigMapList{}
	require.NoError(t, s.peekAll(t.Context(), left))
	require.Len(t, left.Items, 8)
}

// What was made under a former name, or with another place of the digest, is pruned like the rest.
func TestPruneAfterARename(t *testing.T) {
	store := hash.Annotation("example.com/digest")
	for name, tc := range map[string]struct {
		former   string
		before   []ensure.Setting
		settings []ensure.Setting
	}{
		"of the field owner": {"former-operator", nil, []ensure.Setting{ensure.FormerFieldOwners("former-operator")}},
		"of the field owner, whose digest has a store": {
			"former-operator",
			[]ensure.Setting{ensure.WithDigest(hash.Default(), store)},
			[]ensure.Setting{ensure.FormerFieldOwners("former-operator"), ensure.WithDigest(hash.Default(), store)},
		},
		"of the store": {fieldOwner, nil, []ensure.Setting{ensure.WithDigest(hash.Default(), store)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			_, err := ensure.Set(t.Context(), ensure.New(s, s, tc.former, tc.before...), shop(), []client.Object{called("unwanted")})
			require.NoError(t, err)
			require.Empty(t, prune(t, ensure.New(s, s, "another", tc.settings[1:]...), nil), "it is not theirs")
			require.Equal(t, []string{"unwanted"}, namesOf(prune(t, newEnsurer(s, tc.settings...), nil)))
		})
	}
}

func TestPruneInReverse(t *testing.T) {
	s := newServer()
	for _, name := range []string{"b", "c", "a"} {
		created(t, s, called(name), ensure.ControlledBy(shop()))
	}
	created(t, s, service(), ensure.ControlledBy(shop()))
	results, err := ensure.Set(t.Context(), ensure.New(aged(s, "c"), s, fieldOwner), shop(), nil,
		ensure.Prune(&corev1.ConfigMap{}, &corev1.Service{}).Propagation(metav1.DeletePropagationForeground))
	require.NoError(t, err)
	require.Equal(t, []string{"web", "c", "b", "a"}, namesOf(results.Pruned), "of the same age by name")
	for _, removal := range removals(s.take()) {
		require.Equal(t, metav1.DeletePropagationForeground, *removal.PropagationPolicy)
	}
}

func TestPruneWhenReady(t *testing.T) {
	s := newServer()
	created(t, s, called("old"), ensure.ControlledBy(shop()))
	e := newEnsurer(s)
	pass := func(children ...client.Object) []string {
		results, err := ensure.Set(t.Context(), e, shop(), children, ensure.Prune(&corev1.ConfigMap{}).WhenReady())
		require.NoError(t, err)
		return namesOf(results.Pruned)
	}

	balanced := with(service(), func(o *corev1.Service) { o.Spec.Type = corev1.ServiceTypeLoadBalancer })
	require.Empty(t, pass(called("wanted"), balanced), "the Service has no cluster IP yet")
	s.edit(t, balanced, `{"spec":{"clusterIP":"10.0.0.1"}}`)
	require.Equal(t, []string{"old"}, pass(called("wanted"), balanced))

	created(t, s, called("old"), ensure.ControlledBy(shop()))
	require.Equal(t, []string{"wanted", "old"}, pass(), "there is no child to wait for")
}

// aged is a client that shows one object as the newest of them.
func aged(s *apiServer, newest string) client.Client {
	return listing(s, func(_ int, obj client.Object) {
		if obj.GetName() == newest {
			obj.SetCreationTimestamp(metav1.NewTime(time.Unix(2e9, 0)))
		}
	})
}

// listing is a client whose cached lists are changed; n counts them.
func listing(s *apiServer, change func(n int, obj client.Object)) client.Client {
	n := 0
	return interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := s.peekAll(ctx, list, opts...); err != nil {
				return err
			}
			n++
			return meta.EachListItem(list, func(item runtime.Object) error {
				obj, _ := item.(client.Object)
				change(n, obj)
				return nil
			})
		},
	})
}

func TestPruneOfWhatIsGoing(t *testing.T) {
	s := newServer()
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	s.edit(t, configMap(), `{"metadata":{"finalizers":["example.com/wait"]}}`)
	e := newEnsurer(s)
	require.Equal(t, ensure.Deleting, prune(t, e, nil)[0].Operation)
	require.Empty(t, cmp.Diff([]string{"list", "get", "delete"}, s.verbs()))
	require.Equal(t, ensure.Deleting, prune(t, e, nil)[0].Operation)
	require.Empty(t, cmp.Diff([]string{"list"}, s.verbs()), "once is enough")
	s.edit(t, configMap(), `{"metadata":{"finalizers":[]}}`)
	require.Empty(t, prune(t, e, nil))
}

// What the cache shows may be over: the server is asked, and only what is a member still
// is deleted.
func TestPruneWithAStaleCache(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		meet   func(t *testing.T, s *apiServer)
		want   ensure.Operation
		gone   bool
	}{
		"gone": {"somebody was quicker", func(t *testing.T, s *apiServer) { t.Helper(); s.remove(t, configMap()) }, ensure.Gone, true},
		"changed": {"it is a member still", func(t *testing.T, s *apiServer) {
			t.Helper()
			s.edit(t, configMap(), `{"data":{"color":"red"}}`)
		}, ensure.Deleting, true},
		"let go": {"it has no controller any more", func(t *testing.T, s *apiServer) {
			t.Helper()
			s.edit(t, configMap(), `{"metadata":{"ownerReferences":null}}`)
		}, "", false},
		"going": {"it is on its way already", func(t *testing.T, s *apiServer) {
			t.Helper()
			s.edit(t, configMap(), `{"metadata":{"finalizers":["example.com/wait"]}}`)
			s.remove(t, configMap())
		}, ensure.Deleting, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap(), ensure.ControlledBy(shop()))
			s.before = func(verb string) {
				if verb == "delete" {
					s.before = nil
					tc.meet(t, s)
				}
			}
			counted := newTally(t)
			pruned := prune(t, ensure.New(s, s, fieldOwner), nil)
			if tc.want == "" {
				require.Empty(t, pruned, tc.reason)
				require.Equal(t, map[string]float64{"requests /ConfigMap Unchanged ": 3}, counted.take())
			} else {
				require.Len(t, pruned, 1)
				require.Equal(t, tc.want, pruned[0].Operation, tc.reason)
			}
			err := s.peek(t.Context(), client.ObjectKeyFromObject(configMap()), configMap())
			require.Equal(t, tc.gone, err != nil, "%v", err)
		})
	}
}

// Without read-your-writes, a list shows a new child later than in the next call, which may not want the child any more.
func TestPruneWhatNoListHasShown(t *testing.T) {
	s := newServer(shop())
	behind := &lagging{Client: s.cached(faithful), lags: true}
	e := ensure.New(behind, s, fieldOwner)
	set := func(names []string, opts ...ensure.SetOption) []string {
		t.Helper()
		children := []client.Object{}
		for _, name := range names {
			children = append(children, called(name))
		}
		results, err := ensure.Set(t.Context(), e, shop(), children, append(opts, ensure.Prune(&corev1.ConfigMap{}))...)
		require.NoError(t, err)
		return namesOf(results.Pruned)
	}
	a, all := []string{"a"}, []string{"a", "b", "c", "d"}
	set(all)
	s.verbs()
	require.Empty(t, set(all))
	require.Equal(t, []string{"get", "get", "get", "get"}, s.verbs(), "of Object, as the cache shows none")
	s.remove(t, called("c"))
	s.edit(t, called("d"), `{"metadata":{"ownerReferences":null}}`)
	s.verbs()
	require.Equal(t, []string{"b"}, set(a, ensure.DryRun()), "c is gone, and d is not of this owner any more")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(called("b")), called("b")))
	s.verbs()
	require.Equal(t, []string{"b"}, set(a))
	require.Equal(t, []string{"get", "get", "get", "get", "get", "delete"}, s.verbs(), "a, the owner, d, c, b")
	require.Empty(t, set(a))
	require.Equal(t, []string{"get"}, s.verbs(), "a")
	behind.lags = false
	require.Empty(t, set(a))
	behind.lags = true
	require.Empty(t, set(nil), "a list has shown a, so that it shows a until somebody deletes it")
}

// An owner as an old cache shows it wants what it wanted then.
func TestPruneBehindItsOwner(t *testing.T) {
	for name, tc := range map[string]struct {
		owner *Shop // on the server
		says  string
	}{
		"changed":                      {with(shop(), func(o *Shop) { o.Generation = 2 }), "was changed meanwhile"},
		"changed, without generations": {with(shop(), func(o *Shop) { o.Generation = 0 }), "was changed meanwhile"},
		"replaced":                     {with(shop(), func(o *Shop) { o.UID = "another" }), "was replaced meanwhile"},
		"going": {with(shop(), func(o *Shop) {
			o.DeletionTimestamp, o.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"example.com/wait"}
		}), "is being deleted"},
		"gone": {with(shop(), func(o *Shop) { o.Name = "other" }), "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(tc.owner)
			created(t, s, configMap(), ensure.ControlledBy(shop()))
			given := with(shop(), func(o *Shop) { o.Generation = min(o.Generation, tc.owner.Generation) })
			_, err := ensure.Set(t.Context(), newEnsurer(s), given, nil, ensure.Prune(&corev1.ConfigMap{}))
			require.Equal(t, "Conflict", ensure.Reason(err))
			require.ErrorContains(t, err, `the owner "default/shop" `+tc.says)
			require.Empty(t, cmp.Diff([]string{"list", "get"}, s.verbs()))
			require.NotNil(t, live(t, s, configMap()))
		})
	}
}

// A caller may know no more of the owner than its UID.
func TestPruneForAUIDAlone(t *testing.T) {
	s := newServer()
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	owner := &Shop{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: shop().UID}}
	results, err := ensure.Set(t.Context(), newEnsurer(s), owner, nil, ensure.Prune(&corev1.ConfigMap{}))
	require.NoError(t, err)
	require.Equal(t, []string{"settings"}, namesOf(results.Pruned))
}

func TestPruneThatCannotReadItsOwner(t *testing.T) {
	s := newServer()
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	e := ensure.New(s, failingReads(s, status(403, metav1.StatusReasonForbidden)), fieldOwner, sensitiveConfigMaps())
	counted := newTally(t)
	_, err := ensure.Set(t.Context(), e, shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
	require.Equal(t, map[string]float64{"requests /ConfigMap Failed Forbidden": 1}, counted.take())
	require.Equal(t, "Forbidden", ensure.Reason(err))
	require.ErrorContains(t, err, `cannot read the owner "default/shop": a permission is missing (get on the owner's kind)`)
	require.NotContains(t, err.Error(), secret)
	require.Empty(t, cmp.Diff([]string{"list"}, s.verbs()))
}

func TestPruneThatCannotReadASensitiveOwner(t *testing.T) {
	s := newServer()
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	e := ensure.New(s, failingReads(s, status(403, metav1.StatusReasonForbidden)), fieldOwner,
		ensure.WithSensitive(schema.GroupKind{Group: "example.com", Kind: "Shop"}))
	_, err := ensure.Set(t.Context(), e, shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
	require.EqualError(t, err, `cannot prune ConfigMap "default/settings": Forbidden: cannot read the owner "default/shop"`)
}

func TestPruneStopsAtTheFirstError(t *testing.T) {
	s := newServer()
	for _, name := range []string{"a", "b", "c"} {
		created(t, s, called(name), ensure.ControlledBy(shop()))
	}
	s.answers = []error{nil, status(403, metav1.StatusReasonForbidden)}
	results, err := ensure.Set(t.Context(), newEnsurer(s, sensitiveConfigMaps()), shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
	require.ErrorContains(t, err, `cannot delete ConfigMap "default/b": Forbidden`)
	require.NotContains(t, err.Error(), secret)
	require.Equal(t, []string{"c"}, namesOf(results.Pruned))
	require.Empty(t, cmp.Diff([]string{"list", "get", "delete", "delete"}, s.verbs()))
}

func TestPruneThatCannotList(t *testing.T) {
	s := newServer()
	broken := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New(secret)
		},
	})
	_, err := ensure.Set(t.Context(), ensure.New(broken, s, fieldOwner, sensitiveConfigMaps()), shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
	require.ErrorIs(t, err, ensure.ErrAPI)
	require.ErrorContains(t, err, `cannot list ConfigMap in namespace "default": Unavailable`)
	require.NotContains(t, err.Error(), secret)
}

// Lists that wait for our own writes are given up like reads are.
func TestPruneDoesNotWaitForEver(t *testing.T) {
	if !consistency.IsSupported() {
		t.Skip("before controller-runtime v0.25, no list waits for a write")
	}
	t.Parallel()
	s := newServer()
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	waiting := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			var options client.ListOptions
			options.ApplyOptions(opts)
			if !consistency.IsOff(&options) {
				<-ctx.Done()
				return ctx.Err()
			}
			return s.peekAll(ctx, list, opts...)
		},
	})
	require.Len(t, prune(t, ensure.New(waiting, s, fieldOwner), nil), 1)
}

func TestPruneOfKindsWithoutAGoType(t *testing.T) {
	for name, kind := range map[string]client.Object{
		"unstructured": &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}},
		"metadata":     &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap(), ensure.ControlledBy(shop()))
			created(t, s, called("wanted"), ensure.ControlledBy(shop()))
			results, err := ensure.Set(t.Context(), newEnsurer(s), shop(), []client.Object{called("wanted")}, ensure.Prune(kind))
			require.NoError(t, err)
			require.Equal(t, []string{"settings"}, namesOf(results.Pruned))
			require.Equal(t, "ConfigMap", results.Pruned[0].Live.GetObjectKind().GroupVersionKind().Kind)
			require.IsType(t, kind, results.Pruned[0].Live)
		})
	}
}

func TestDryRunOfPruning(t *testing.T) {
	s := newServer()
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	pruned := prune(t, newEnsurer(s), nil, ensure.DryRun())
	require.Equal(t, ensure.Deleting, pruned[0].Operation)
	require.NotNil(t, live(t, s, configMap()))
}

func TestPruneOnTheFakeClient(t *testing.T) {
	c := bareFake()
	e := ensure.New(c, c, fieldOwner)
	owner := with(shop(), func(o *Shop) { o.UID, o.ResourceVersion = "", "" })
	require.NoError(t, c.Create(t.Context(), owner))
	_, err := ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(owner))
	require.NoError(t, err)
	results, err := ensure.Set(t.Context(), e, owner, nil, ensure.Prune(&corev1.ConfigMap{}))
	require.NoError(t, err)
	require.Len(t, results.Pruned, 1)
}
