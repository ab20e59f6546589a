package ensuretest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

func thing() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	u.SetGroupVersionKind(thingKind)
	u.SetNamespace("default")
	u.SetName("thing")
	return u
}

// The generation of some of Kubernetes' own kinds moves in a way of its own.
func TestGenerationsOfTheirOwn(t *testing.T) {
	definition := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": "example.com"}}}
	definitionKind := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	definition.SetGroupVersionKind(definitionKind)
	definition.SetName("things.example.com")
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "slice"}, AddressType: discoveryv1.AddressTypeIPv4}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}, Value: 1}

	labels := merge(`{"metadata":{"labels":{"a":"b"}}}`)
	annotations := merge(`{"metadata":{"annotations":{"a":"b"}}}`)
	for _, test := range []struct {
		name    string
		obj     client.Object
		change  client.Patch
		changed int64 // after the change
		going   int64 // after the deletion
	}{
		{"a Deployment's annotations", web(), annotations, 2, 3},
		{"a Deployment's labels", web(), labels, 1, 2},
		{"an EndpointSlice's labels", slice, labels, 2, 3},
		{"an EndpointSlice's annotations", slice, annotations, 1, 2},
		{"a PriorityClass' content", class, merge(`{"description":"hello"}`), 1, 2},
		{"a CustomResourceDefinition's content", definition, merge(`{"spec":{"group":"example.org"}}`), 2, 2},
		{"a ConfigMap's content", settings("hello"), merge(`{"data":{"text":"goodbye"}}`), 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			known := newScheme(t)
			known.AddKnownTypeWithName(definitionKind, &unstructured.Unstructured{})
			seed := test.obj.DeepCopyObject().(client.Object)
			seed.SetFinalizers([]string{"example.com/wait"})
			c := ensuretest.NewClient(known, seed)
			obj := live(t, c, seed)
			require.NoError(t, c.Patch(t.Context(), obj, test.change))
			require.Equal(t, test.changed, obj.GetGeneration())
			require.NoError(t, c.Delete(t.Context(), obj))
			require.Equal(t, test.going, live(t, c, obj).GetGeneration())
		})
	}
}

// A server takes an empty list for a change each time, of the few kinds whose generation it
// counts before it stores them.
func TestEmptyLists(t *testing.T) {
	const letsNothingIn = `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"none"},` +
		`"spec":{"podSelector":{},"policyTypes":["Ingress"],"ingress":[]}}`
	c := ensuretest.NewClient(newScheme(t))
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "none"}}
	for generation := int64(1); generation <= 3; generation++ {
		require.NoError(t, c.Patch(t.Context(), policy, applyPatch(letsNothingIn), client.FieldOwner("applier")))
		require.Equal(t, generation, policy.Generation)
		require.Nil(t, policy.Spec.Ingress, "no server stores it")
	}
	before := live(t, c, policy.DeepCopy())
	require.NoError(t, c.Update(t.Context(), policy))
	require.Empty(t, cmp.Diff(before, live(t, c, policy)))
}

func TestStringData(t *testing.T) {
	secret := func(data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "secret"},
			Data:       data, StringData: map[string]string{"new": "written"},
		}
	}
	const apply = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"secret"},"stringData":{"new":"written"}}`
	for _, test := range []struct {
		name string
		seed map[string][]byte
		do   func(ctx context.Context, c client.Client) error
		want map[string][]byte
	}{
		{
			"create", nil,
			func(ctx context.Context, c client.Client) error { return c.Create(ctx, secret(nil)) },
			map[string][]byte{"new": []byte("written")},
		},
		{
			"create with data", nil,
			func(ctx context.Context, c client.Client) error {
				return c.Create(ctx, secret(map[string][]byte{"new": []byte("hidden"), "old": []byte("kept")}))
			},
			map[string][]byte{"new": []byte("written"), "old": []byte("kept")},
		},
		{
			"update",
			map[string][]byte{"old": []byte("replaced")},
			func(ctx context.Context, c client.Client) error { return c.Update(ctx, secret(nil)) },
			map[string][]byte{"new": []byte("written")},
		},
		{
			"apply",
			map[string][]byte{"old": []byte("kept")},
			func(ctx context.Context, c client.Client) error {
				return c.Patch(ctx, secret(nil), applyPatch(apply), client.FieldOwner("applier"))
			},
			map[string][]byte{"new": []byte("written"), "old": []byte("kept")},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seeds []client.Object
			if test.seed != nil {
				seed := secret(test.seed)
				seed.StringData = nil
				seeds = append(seeds, seed)
			}
			c := ensuretest.NewClient(newScheme(t), seeds...)
			require.NoError(t, test.do(t.Context(), c))
			stored := live(t, c, secret(nil))
			require.Empty(t, cmp.Diff(test.want, stored.Data))
			require.Nil(t, stored.StringData)
		})
	}
}

// An object of which only the metadata is known keeps all else.
func TestMetadataAlone(t *testing.T) {
	partial := func() *metav1.PartialObjectMetadata {
		p := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
		p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		return p
	}
	c := ensuretest.NewClient(newScheme(t), settings("hello"))
	p := partial()
	require.NoError(t, c.Patch(t.Context(), p, merge(`{"metadata":{"labels":{"a":"b"}}}`)))
	require.Equal(t, map[string]string{"a": "b"}, p.Labels)
	require.Equal(t, "hello", live(t, c, settings("")).Data["text"])
	require.Equal(t, "patch ConfigMap default/settings: metadata.labels[a]", c.Requests()[0].String())

	require.ErrorContains(t, c.Update(t.Context(), partial()), "using only metadata")
	require.ErrorContains(t, c.Create(t.Context(), partial()), "using only metadata")
	require.Equal(t, "hello", live(t, c, settings("")).Data["text"])

	require.NoError(t, c.Delete(t.Context(), partial()))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(p), settings(""))))
}

// A deletion of all leaves what waits for a finalizer, and what is not meant.
func TestDeleteAllOf(t *testing.T) {
	named := func(name string, finalizers ...string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}, Finalizers: finalizers,
		}}
	}
	other := named("other")
	other.Labels = nil
	c := ensuretest.NewClient(newScheme(t), named("gone"), named("waiting", "example.com/wait"), other)
	require.NoError(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace("default"), client.MatchingLabels{"app": "web"}, client.DryRunAll))
	require.Nil(t, live(t, c, named("gone")).DeletionTimestamp)

	require.NoError(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace("default"), client.MatchingLabels{"app": "web"}))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(named("gone")), named(""))))
	require.NotNil(t, live(t, c, named("waiting")).DeletionTimestamp)
	require.Nil(t, live(t, c, other).DeletionTimestamp)
}

func TestSeedsKeepTheirAge(t *testing.T) {
	seed := widget()
	seed.CreationTimestamp = metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	c := ensuretest.NewClient(newScheme(t), seed)
	require.True(t, seed.CreationTimestamp.Equal(&live(t, c, widget()).CreationTimestamp))
}

// What was read from a server goes on to tell who owns its fields.
func TestSeedsKeepTheirManagers(t *testing.T) {
	from := ensuretest.NewClient(newScheme(t))
	require.NoError(t, from.Create(t.Context(), settings("hello"), client.FieldOwner("creator")))
	c := ensuretest.NewClient(newScheme(t), live(t, from, settings("")))
	managers := live(t, c, settings("")).ManagedFields
	require.Len(t, managers, 1)
	require.Equal(t, "creator", managers[0].Manager)
}

func TestSeedsThatCannotBeHeld(t *testing.T) {
	require.Panics(t, func() { ensuretest.NewClient(runtime.NewScheme(), thing()) })
}

func TestTheSameSeedTwice(t *testing.T) {
	require.Panics(t, func() { ensuretest.NewClient(newScheme(t), widget(), widget()) })
}

// What has no Go type has its status kept apart as well.
func TestStatusOfWhatIsUnstructured(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t))
	obj := thing()
	require.NoError(t, unstructured.SetNestedField(obj.Object, "Made", "status", "phase"))
	require.NoError(t, c.Create(t.Context(), obj))
	require.NotContains(t, live(t, c, thing()).Object, "status")

	require.NoError(t, unstructured.SetNestedField(obj.Object, "Meant", "status", "phase"))
	require.NoError(t, unstructured.SetNestedField(obj.Object, int64(2), "spec", "size"))
	require.NoError(t, c.Update(t.Context(), obj))
	require.NotContains(t, live(t, c, thing()).Object, "status")
	require.Equal(t, int64(2), obj.GetGeneration())

	require.NoError(t, unstructured.SetNestedField(obj.Object, "Ready", "status", "phase"))
	require.NoError(t, c.Status().Update(t.Context(), obj))
	requests := c.Requests()
	require.Equal(t, "update status of Thing default/thing: status", requests[len(requests)-1].String())
}

// Items of a status that have neither a type nor a name are told by their index.
func TestListsOfAStatus(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), thing())
	require.NoError(t, c.Status().Patch(t.Context(), thing(), merge(`{"status":{"ports":[80,81],"phase":"a"}}`)))
	require.NoError(t, c.Status().Patch(t.Context(), thing(), merge(`{"status":{"ports":[80,82],"phase":"b"}}`)))
	require.Equal(t, "patch status of Thing default/thing: status.phase, status.ports[1] 81 -> 82", c.Requests()[1].String())
}

// Items that changed places are a change, of the list.
func TestOrderOfAStatus(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), thing())
	require.NoError(t, c.Status().Patch(t.Context(), thing(), merge(`{"status":{"nodes":[{"name":"a"},{"name":"b"}]}}`)))
	require.NoError(t, c.Status().Patch(t.Context(), thing(), merge(`{"status":{"nodes":[{"name":"b"},{"name":"a"}]}}`)))
	require.Equal(t, "patch status of Thing default/thing: status.nodes", c.Requests()[1].String())
}

// A write of which only the owners of fields changed says so.
func TestChangeOfOwnersOnly(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), settings("hello"))
	same := body("", `,"data":{"text":"hello"}`)
	require.NoError(t, c.Patch(t.Context(), settings(""), applyPatch(same), client.FieldOwner("applier")))
	require.Equal(t, "apply ConfigMap default/settings: changed nothing but metadata.managedFields", c.Requests()[0].String())
}

// Between a write and the reads around it others write too; and what cannot be read is not
// told.
func TestChangesThatCannotBeTold(t *testing.T) {
	ctx := t.Context()
	inner := ensuretest.NewClient(newScheme(t), settings("hello"))
	replaced := interceptor.NewClient(inner, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
			require.NoError(t, c.Delete(ctx, obj))
			return c.Create(ctx, settings("goodbye"))
		},
	})
	c := ensuretest.Count(replaced, inner)
	require.NoError(t, c.Patch(ctx, settings(""), merge(`{}`)))
	require.Equal(t, "patch ConfigMap default/settings: another object", c.Requests()[0].String())

	c = ensuretest.Count(inner, ensuretest.NewClient(newScheme(t)))
	require.NoError(t, c.Update(ctx, settings("hello")))
	require.Equal(t, "update ConfigMap default/settings", c.Requests()[0].String())
}

type byValue struct{ *corev1.ConfigMap }

// The client itself refuses what is no pointer.
func TestObjectsThatAreNoPointers(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t))
	require.Error(t, c.Create(t.Context(), byValue{settings("hello")}))
	require.Len(t, c.Requests(), 1)
}

// A server reads an apply as YAML, in which keys of more than a thousand characters have a
// question mark.
func TestLongKeys(t *testing.T) {
	desired := thing()
	key := strings.Repeat("k", 2000)
	require.NoError(t, unstructured.SetNestedField(desired.Object, int64(1), "spec", key))
	c := ensuretest.NewClient(newScheme(t))
	_, err := ensure.Object(t.Context(), ensure.New(c, c, "things"), desired)
	require.NoError(t, err)
	require.Contains(t, live(t, c, thing()).Object["spec"], key)
}
