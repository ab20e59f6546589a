package content_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// TestRefusedNullsAreRemembered: later writes of the same desired state leave the nulls out at once.
func TestRefusedNullsAreRemembered(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, things, thingKind)
	f := newFixture(t)
	desired := f.thing("remembered", map[string]any{"size": nil, "kind": "fancy"})
	_, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
	require.NoError(t, err)
	for range 2 {
		edited := f.live(desired)
		require.NoError(t, unstructured.SetNestedField(edited.Object, "edited", "spec", "kind"))
		require.NoError(t, program.Client(t, shared, "kubectl-edit").Update(t.Context(), edited))
		mark := shared.Mark()
		res, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
		require.NoError(t, err)
		require.Equal(t, ensure.Drifted, res.Cause)
		require.Len(t, f.requests(mark), 2, "a read and an apply")
	}
}

// TestNulls: where desired has null, the live object has null if the kind knows the field, and the
// value of a new object if not.
func TestNulls(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, things, thingKind)
	for name, tc := range map[string]struct {
		why      string
		desired  map[string]any
		requests int // of the create, its read included
		restart  int // requests of the first pass of another process
	}{
		"of a nullable field":     {"and no default", map[string]any{"mode": nil}, 2, 1},
		"in free-form content":    {"Helm takes it for: no value", map[string]any{"any": map[string]any{"a": nil, "b": map[string]any{"c": nil}, "d": []any{nil}}}, 2, 1},
		"of a field with default": {"a create fills that in, too", map[string]any{"kind": nil}, 2, 2},
		"of a field without":      {"an apply is refused at first", map[string]any{"size": nil, "mode": nil}, 3, 3},
		"of several, some in a list": {
			"likewise, and all at once",
			map[string]any{"size": nil, "any": nil, "limits": map[string]any{"a": nil, "b.c": nil, "d": "e"}, "users": nil, "parts": []any{
				map[string]any{"name": "a", "size": int64(1)}, map[string]any{"name": "b", "size": nil, "mode": nil},
			}},
			3, 3,
		},
		"of an empty creation time": {"templates have it", map[string]any{"any": map[string]any{"metadata": map[string]any{"creationTimestamp": nil}}}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			created := f.thing("created", tc.desired)
			unstructured.RemoveNestedField(created.Object, "spec", "any", "metadata", "creationTimestamp")
			require.NoError(t, program.Client(t, shared, "kubectl-edit").Create(t.Context(), created))

			desired := f.thing("applied", tc.desired)
			mark := shared.Mark()
			res, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
			require.NoError(t, err)
			require.Equal(t, ensure.Created, res.Operation)
			require.Len(t, f.requests(mark), tc.requests, tc.why)
			require.Equal(t, created.Object["spec"], f.live(desired).Object["spec"], tc.why)

			mark = shared.Mark()
			f.unchanged(desired)
			require.Len(t, f.requests(mark), 1, "a read")

			f.ensurer = ensure.New(f.client, f.client, "content-operator")
			mark = shared.Mark()
			f.unchanged(desired)
			require.Len(t, f.requests(mark), tc.restart, tc.why)
			mark = shared.Mark()
			f.unchanged(desired)
			require.Len(t, f.requests(mark), 1, "a read")
		})
	}
}

// TestEditedNulls: a value that somebody writes in the place of null, or of a missing null, is
// drift.
func TestEditedNulls(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, things, thingKind)
	for name, edit := range map[string]string{
		"a value":        `[{"op":"replace","path":"/spec/mode","value":"manual"},{"op":"replace","path":"/spec/any/a","value":1}]`,
		"their removal":  `[{"op":"remove","path":"/spec/mode"},{"op":"remove","path":"/spec/any/a"}]`,
		"an empty value": `[{"op":"replace","path":"/spec/mode","value":""},{"op":"replace","path":"/spec/any/a","value":""}]`,
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				desired := f.thing("thing", map[string]any{"mode": nil, "any": map[string]any{"a": nil, "b": "c"}})
				_, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
				require.NoError(t, err)
				editor := program.Client(t, shared, "kubectl-edit")
				require.NoError(t, editor.Patch(t.Context(), desired.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(edit))))
				if restarted {
					f.ensurer = ensure.New(f.client, f.client, "content-operator")
				}
				res, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
				require.NoError(t, err)
				require.Equal(t, ensure.Drifted, res.Cause)
				spec := f.live(desired).Object["spec"]
				require.Equal(t, map[string]any{"mode": nil, "kind": "plain", "any": map[string]any{"a": nil, "b": "c"}}, spec)
			})
		}
	}
}

// TestNullOverAMap: an apply merges null with a map, which is somebody else's then. The
// server is asked once.
func TestNullOverAMap(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, things, thingKind)
	f := newFixture(t)
	desired := f.thing("thing", map[string]any{"limits": nil})
	_, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
	require.NoError(t, err)
	editor := program.Client(t, shared, "kubectl-edit")
	limits := []byte(`{"spec":{"limits":{"cpu":"1"}}}`)
	require.NoError(t, editor.Patch(t.Context(), desired.DeepCopy(), client.RawPatch(types.MergePatchType, limits)))
	for range 2 {
		f.unchanged(desired)
	}
	mark := shared.Mark()
	f.unchanged(desired)
	require.Len(t, f.requests(mark), 1, "a read")
	got, _, _ := unstructured.NestedStringMap(f.live(desired).Object, "spec", "limits")
	require.Equal(t, map[string]string{"cpu": "1"}, got)
}

// TestDroppedNulls: a null that desired no longer has is given up like any other value, also if
// that is all that changed.
func TestDroppedNulls(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, things, thingKind)
	f := newFixture(t)
	first := f.thing("thing", map[string]any{"mode": nil, "any": map[string]any{"a": nil, "b": "c"}})
	_, err := ensure.Object(t.Context(), f.ensurer, first.DeepCopy())
	require.NoError(t, err)
	require.Equal(t, map[string]any{"mode": nil, "kind": "plain", "any": map[string]any{"a": nil, "b": "c"}}, f.live(first).Object["spec"])
	desired := f.thing("thing", map[string]any{"any": map[string]any{"b": "c"}})
	res, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
	require.NoError(t, err)
	require.Equal(t, ensure.DesiredChanged, res.Cause)
	require.Equal(t, map[string]any{"mode": "auto", "kind": "plain", "any": map[string]any{"b": "c"}}, f.live(desired).Object["spec"])
}

// unchangedAfterRestart requires that another process finds nothing to do, by one read.
func (f *fixture) unchangedAfterRestart(desired client.Object) {
	f.t.Helper()
	f.ensurer = ensure.New(f.client, f.client, "content-operator")
	mark := shared.Mark()
	f.unchanged(desired)
	require.Len(f.t, f.requests(mark), 1, "a read")
}

func (f *fixture) unchanged(desired client.Object) {
	f.t.Helper()
	copied, _ := desired.DeepCopyObject().(client.Object)
	res, err := ensure.Object(f.t.Context(), f.ensurer, copied)
	require.NoError(f.t, err)
	require.Equal(f.t, ensure.Unchanged, res.Operation)
}

// thing is a Thing whose Go type has a place for anything.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Any   runtime.RawExtension   `json:"any,omitzero"`
		Parts []apiextensionsv1.JSON `json:"parts,omitempty"`
		Mode  *string                `json:"mode"`
	} `json:"spec"`
}

func (t *thing) DeepCopyObject() runtime.Object {
	out := *t
	t.DeepCopyInto(&out.ObjectMeta)
	t.Spec.Any.DeepCopyInto(&out.Spec.Any)
	return &out
}

// TestTypedNulls: null is kept in fields that may hold anything, and means an unset field of a Go
// type.
func TestTypedNulls(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, things, thingKind)
	f := newFixture(t)
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(thingKind, &thing{})
	metav1.AddToGroupVersion(scheme, thingKind.GroupVersion())
	typed, err := client.New(program.Config(shared, "operator of "+f.namespace), client.Options{Scheme: scheme})
	require.NoError(t, err)
	desired := &thing{}
	desired.Namespace, desired.Name = f.namespace, "typed"
	desired.Spec.Any.Raw = []byte(`{"a":null,"b":{"c":null}}`)
	desired.Spec.Parts = []apiextensionsv1.JSON{{Raw: []byte(`{"name":"a","mode":null,"size":null}`)}}
	for range 2 { // of two processes
		e := ensure.New(typed, typed, "content-operator")
		_, err = ensure.Object(t.Context(), e, desired)
		require.NoError(t, err)
		require.Equal(t, map[string]any{
			"any": map[string]any{"a": nil, "b": map[string]any{"c": nil}}, "kind": "plain", "mode": "auto",
			"parts": []any{map[string]any{"name": "a", "mode": nil}},
		}, f.live(f.thing("typed", nil)).Object["spec"])
		mark := shared.Mark()
		res, err := ensure.Object(t.Context(), e, desired)
		require.NoError(t, err)
		require.Equal(t, ensure.Unchanged, res.Operation)
		require.Len(t, f.requests(mark), 1, "a read")
	}
}

// TestNullsOfBuiltInKinds: null is absence, but in the content of a ControllerRevision.
func TestNullsOfBuiltInKinds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "revision"},
		Data:       runtime.RawExtension{Raw: []byte(`{"spec":{"a":null}}`)}, Revision: 1,
	}
	_, err := ensure.Object(t.Context(), f.ensurer, revision)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"spec": map[string]any{"a": nil}}, f.live(revision).Object["data"])

	budget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"namespace": f.namespace, "name": "budget"},
		"spec": map[string]any{"minAvailable": int64(1), "maxUnavailable": nil, "selector": map[string]any{"matchLabels": nil}},
	}}
	_, err = ensure.Object(t.Context(), f.ensurer, budget.DeepCopy())
	require.NoError(t, err)
	f.unchangedAfterRestart(budget)
}

// TestNullsInARawExtension: a built-in kind, too, has content of a free form.
func TestNullsInARawExtension(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := map[string]any{"a": nil, "b": map[string]any{"c": nil, "d": "e"}}
	desired := &unstructured.Unstructured{Object: map[string]any{"data": data, "revision": int64(1)}}
	desired.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))
	desired.SetNamespace(f.namespace)
	desired.SetName("web-1")
	res, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
	require.NoError(t, err)
	require.Equal(t, ensure.Created, res.Operation)
	require.Equal(t, data, f.live(desired).Object["data"])
	f.unchanged(desired)
	c := program.Client(t, shared, "restarted")
	res, err = ensure.Object(t.Context(), ensure.New(c, c, "content-operator"), desired.DeepCopy())
	require.NoError(t, err)
	require.Equal(t, ensure.Unchanged, res.Operation)
}

// TestAnEmptyStatusOfADefinition: controller-gen writes the status of a CustomResourceDefinition with empty lists.
func TestAnEmptyStatusOfADefinition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.NoError(t, apiextensionsv1.AddToScheme(f.client.Scheme()))
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal([]byte(strings.NewReplacer("thing", "kiosk", "Thing", "Kiosk").Replace(things)), definition))
	definition.Status = apiextensionsv1.CustomResourceDefinitionStatus{
		Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{}, StoredVersions: []string{},
	}
	_, err := ensure.Object(t.Context(), f.ensurer, definition)
	require.NoError(t, err)
	f.unchanged(definition)
}

// TestAnObjectThatIsTooLarge has no path: the API server names none.
func TestAnObjectThatIsTooLarge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	desired := &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", 1<<20+1)}}
	desired.Namespace, desired.Name = f.namespace, "large"
	_, err := ensure.Object(t.Context(), f.ensurer, desired)
	require.ErrorIs(t, err, ensure.ErrInvalid)
	failed, _ := errors.AsType[*ensure.Error](err)
	require.Empty(t, failed.Paths)
}
