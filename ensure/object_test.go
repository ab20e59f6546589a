package ensure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/consistency"
)

func TestObjectCreatesOnceAndThenCostsOneRead(t *testing.T) {
	owned := []ensure.Option{ensure.ControlledBy(shop())}
	cases := map[string]struct {
		reason  string
		desired func() client.Object
		opts    []ensure.Option
	}{
		"ConfigMap":      {"a kind without status", func() client.Object { return configMap() }, owned},
		"Deployment":     {"a kind with status and lists", func() client.Object { return deployment() }, owned},
		"Service":        {"a kind with lists of two keys", func() client.Object { return service() }, owned},
		"Namespace":      {"a cluster-scoped kind", func() client.Object { return namespace() }, nil},
		"custom kind":    {"no generated types, spec may be empty", func() client.Object { return childShop() }, owned},
		"common base":    {"metadata is a level deeper", func() client.Object { return kiosk() }, owned},
		"unstructured":   {"the kind is in the object", func() client.Object { return unstructuredConfigMap() }, owned},
		"metadata alone": {"only labels and annotations are wanted", func() client.Object { return partialConfigMap() }, owned},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			e := newEnsurer(s)

			first := mustEnsure(t, e, tc.desired(), tc.opts...)
			require.Equal(t, ensure.Created, first.Operation, tc.reason)
			require.Equal(t, ensure.Missing, first.Cause)
			require.Empty(t, first.Changes)
			require.IsType(t, tc.desired(), first.Live)
			require.NotEmpty(t, first.Live.GetUID())
			require.Empty(t, cmp.Diff([]string{"get", "create"}, s.verbs()))

			second := mustEnsure(t, e, tc.desired(), tc.opts...)
			require.Equal(t, ensure.Unchanged, second.Operation)
			require.Empty(t, second.Cause)
			require.Empty(t, second.Changes)
			require.False(t, second.Stale)
			require.IsType(t, tc.desired(), second.Live)
			require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))

			restarted := mustEnsure(t, newEnsurer(s), tc.desired(), tc.opts...)
			require.Equal(t, ensure.Unchanged, restarted.Operation)
			require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
		})
	}
}

func childShop() *Shop {
	return &Shop{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "branch"}}
}

func TestObjectSendsOneCompleteCreate(t *testing.T) {
	s := newServer()
	mustEnsure(t, newEnsurer(s), configMap(), ensure.ControlledBy(shop()))

	requests := s.take()
	require.Len(t, requests, 2)
	create := requests[1]
	require.Equal(t, fieldOwner, create.options.FieldManager)
	require.Equal(t, new(true), create.options.Force)
	require.False(t, consistency.IsOff(&create.options), "the next read has to wait for this write")
	require.Nil(t, metadata(create.body)["uid"])
	require.Equal(t, createOnly, metadata(create.body)["resourceVersion"])
	digest := live(t, s, configMap()).Annotations[digestKey]
	require.Regexp(t, "^v1-[0-9a-f]{32}$", digest)
	require.Empty(t, cmp.Diff(map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name": "settings", "namespace": "default", "resourceVersion": createOnly,
			"labels":      map[string]any{"app": "shop"},
			"annotations": map[string]any{"note": "ours", digestKey: digest},
			"ownerReferences": []any{map[string]any{
				"apiVersion": "example.com/v1", "kind": "Shop", "name": "shop", "uid": "uid-of-shop",
				"controller": true, "blockOwnerDeletion": true,
			}},
		},
		"data": map[string]any{"color": "blue", "shape": "round"},
	}, create.body))
}

func TestObjectUpdatesWithTheUIDThatItRead(t *testing.T) {
	s := newServer()
	uid := created(t, s, configMap()).UID

	desired := configMap()
	desired.Data["color"] = "red"
	result := mustEnsure(t, newEnsurer(s), desired)

	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, ensure.DesiredChanged, result.Cause)
	require.Equal(t, "red", result.Live.Data["color"])
	require.Equal(t, []string{"data[color]", digestPath}, paths(result.Changes))
	requests := s.take()
	require.Equal(t, "apply", requests[1].verb)
	require.Equal(t, string(uid), metadata(requests[1].body)["uid"])
	require.Nil(t, metadata(requests[1].body)["resourceVersion"], "another writer's status update is no conflict")
	require.Equal(t, "red", live(t, s, configMap()).Data["color"])
}

func TestObjectOfUnstructuredContentIsNotAwaitedByReads(t *testing.T) {
	s := newServer()
	mustEnsure(t, newEnsurer(s), unstructuredConfigMap())
	require.Equal(t, consistency.IsSupported(), consistency.IsOff(&s.take()[1].options), "the write is booked where no read of it looks")
}

func TestObjectRemovesOnlyWhatItHadSpecified(t *testing.T) {
	s := newServer()
	first := configMap()
	first.Labels["old"], first.Data["old"] = "x", "x"
	created(t, s, first, ensure.ControlledBy(shop()))
	s.edit(t, first, `{"metadata":{"labels":{"team":"a"},"annotations":{"seen":"yes"}}}`)
	s.edit(t, first, `{"metadata":{"finalizers":["example.com/theirs"]},"data":{"theirs":"1"}}`)

	result := mustEnsure(t, newEnsurer(s), configMap(), ensure.ControlledBy(shop()))

	require.Equal(t, ensure.Updated, result.Operation)
	got := live(t, s, first)
	require.Empty(t, cmp.Diff(map[string]string{"app": "shop", "team": "a"}, got.Labels))
	require.Equal(t, "yes", got.Annotations["seen"])
	require.Equal(t, []string{"example.com/theirs"}, got.Finalizers)
	require.Empty(t, cmp.Diff(map[string]string{"color": "blue", "shape": "round", "theirs": "1"}, got.Data))
}

func TestObjectLeavesReplicasToAnAutoscaler(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, deployment())
	s.edit(t, deployment(), `{"spec":{"replicas":7}}`)

	result := mustEnsure(t, e, deployment())
	require.Equal(t, ensure.Unchanged, result.Operation)
	require.Equal(t, int32(7), *result.Live.Spec.Replicas)

	changed := deployment()
	changed.Spec.Template.Spec.Containers[0].Image = "nginx:1.30"
	result = mustEnsure(t, e, changed)
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, int32(7), *result.Live.Spec.Replicas)
}

func TestObjectKeepsASidecarOfSomebodyElse(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, deployment())
	const sidecar = `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:1.29"},{"name":"mesh","image":"mesh"}]}}}}`
	s.edit(t, deployment(), sidecar)

	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, deployment()).Operation)
	changed := deployment()
	changed.Spec.Template.Spec.Containers[0].Image = "nginx:1.30"
	result := mustEnsure(t, e, changed)

	var images []string
	for _, container := range result.Live.Spec.Template.Spec.Containers {
		images = append(images, container.Image)
	}
	require.ElementsMatch(t, []string{"nginx:1.30", "mesh"}, images)
	require.Equal(t, []string{digestPath, "spec.template.spec.containers[name=web].image"}, paths(result.Changes))
}

func TestObjectRemovesAnItemWithWhatOthersSetInIt(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	two := deployment()
	two.Spec.Template.Spec.Containers = append(two.Spec.Template.Spec.Containers, corev1.Container{Name: "helper", Image: "helper"})
	mustEnsure(t, e, two)
	const edit = `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:1.29","env":[{"name":"A","value":"1"}]},` +
		`{"name":"helper","image":"helper","env":[{"name":"A","value":"1"}]}]}}}}`
	s.edit(t, two, edit)
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, two).Operation)

	result := mustEnsure(t, e, deployment())
	require.Len(t, result.Live.Spec.Template.Spec.Containers, 1, "the variable does not keep the container")
	require.Len(t, result.Live.Spec.Template.Spec.Containers[0].Env, 1)
	require.Empty(t, result.Kept)
}

func TestObjectTakesTheOwnerFromDesired(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	desired := configMap()
	desired.OwnerReferences = []metav1.OwnerReference{shopRef()} // as controllerutil.SetControllerReference does
	require.Equal(t, ensure.Created, mustEnsure(t, e, desired).Operation)
	s.take()

	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired, ensure.ControlledBy(shop())).Operation)
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap(), ensure.ControlledBy(shop())).Operation)
	require.Equal(t, []string{"get", "get"}, s.verbs(), "it is the same desired state")
}

func TestObjectFillsInTheOwnersNamespace(t *testing.T) {
	s := newServer()
	desired := configMap()
	desired.Namespace = ""
	result := mustEnsure(t, newEnsurer(s), desired, ensure.ControlledBy(shop()))

	require.Equal(t, "default", result.Live.Namespace)
	require.Empty(t, cmp.Diff([]metav1.OwnerReference{shopRef()}, result.Live.OwnerReferences))
}

func TestObjectKeepsOwnersThatDesiredNames(t *testing.T) {
	friend := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: "uid-of-friend"}
	mere := shopRef()
	mere.Controller = nil
	desired := configMap()
	desired.OwnerReferences = []metav1.OwnerReference{friend, mere}

	result := mustEnsure(t, newEnsurer(newServer()), desired, ensure.ControlledBy(shop()))
	require.Empty(t, cmp.Diff([]metav1.OwnerReference{shopRef(), friend}, result.Live.OwnerReferences))
}

func TestObjectOwnedByAClusterScopedOwner(t *testing.T) {
	owner := namespace()
	owner.UID = "uid-of-tenant"
	result := mustEnsure(t, newEnsurer(newServer()), configMap(), ensure.ControlledBy(owner))
	require.Equal(t, "Namespace", result.Live.OwnerReferences[0].Kind)
	require.Equal(t, "default", result.Live.Namespace)
}

// The bare fake client, as adopters' tests have it: no REST mappings, no UIDs, no
// managed fields in what is read.
func TestObjectOnABareFakeClient(t *testing.T) {
	owner := shop()
	owner.UID = ""
	c := bareFake()
	e := ensure.New(c, c, fieldOwner)

	require.Equal(t, ensure.Created, mustEnsure(t, e, configMap(), ensure.ControlledBy(owner)).Operation)
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap(), ensure.ControlledBy(owner)).Operation)

	require.NoError(t, c.Patch(t.Context(), configMap(), paintRed()))
	result := mustEnsure(t, e, configMap(), ensure.ControlledBy(owner))
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, ensure.Drifted, result.Cause)
	require.Equal(t, "blue", result.Live.Data["color"])

	stranger := &Shop{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other", ResourceVersion: "1"}}
	_, err := ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(stranger))
	require.ErrorIs(t, err, ensure.ErrForeign, "owners without UIDs are told apart by name")
}

// A fake client that counts all its writes starts below what a create leaves.
func TestObjectOnAFakeClientWithOneCounter(t *testing.T) {
	builder, ok := any(fake.NewClientBuilder().WithScheme(newScheme())).(interface {
		WithGlobalResourceVersionCounter() *fake.ClientBuilder
	})
	if !ok {
		t.Skip("controller-runtime has such a fake client since v0.25")
	}
	c := builder.WithGlobalResourceVersionCounter().Build()
	e := ensure.New(c, c, fieldOwner)
	mustEnsure(t, e, configMap())
	for range 2 {
		require.NoError(t, c.Patch(t.Context(), configMap(), paintRed()))
		result := mustEnsure(t, e, configMap())
		require.Equal(t, ensure.Updated, result.Operation)
		require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
	}
}

// Without UIDs, a new object cannot be distinguished from its predecessor by UID, and
// its resourceVersion is lower than what is remembered.
func TestObjectOnABareFakeClientAfterADeletion(t *testing.T) {
	c := bareFake()
	e := ensure.New(c, c, fieldOwner)
	mustEnsure(t, e, configMap())
	changed := configMap()
	changed.Data["color"] = "red"
	mustEnsure(t, e, changed)
	require.NoError(t, c.Delete(t.Context(), configMap()))

	require.Equal(t, ensure.Created, mustEnsure(t, e, changed).Operation)
	again := mustEnsure(t, e, changed)
	require.Equal(t, ensure.Unchanged, again.Operation)
	require.False(t, again.Stale, "the object is a new one, not an old copy")
}

func paintRed() client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"data":{"color":"red"}}`))
}

func paths(changes []ensure.Change) []string {
	var out []string
	for _, change := range changes {
		out = append(out, change.Path)
	}
	return out
}

// The fake client gives each object that it creates the same resourceVersion.
func TestObjectOnABareFakeClientIsNotMistakenForItsPredecessor(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	first, second := ensure.New(c, c, fieldOwner), ensure.New(c, c, fieldOwner)
	mustEnsure(t, first, configMap())
	require.NoError(t, c.Delete(t.Context(), configMap()))
	red := configMap()
	red.Data["color"] = "red"
	mustEnsure(t, second, red)

	result := mustEnsure(t, first, configMap())
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, configMap().Data["color"], result.Live.Data["color"])
}
