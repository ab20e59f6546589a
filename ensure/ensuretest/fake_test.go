package ensuretest_test

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/status"
)

// That the fake client answers as a server does is tested beside one, in test/suites/conformance.

// Widget is a custom kind.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WidgetSpec   `json:"spec"`
	Status WidgetStatus `json:"status,omitempty"`
}

type WidgetSpec struct {
	Size int32 `json:"size,omitempty"`
}

type WidgetStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (w *Widget) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &out
}

// Gauge is a custom kind whose Go type writes what is zero.
type Gauge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Limit uint64 `json:"limit"`
	} `json:"spec"`
	Status struct {
		Replicas int32 `json:"replicas"`
	} `json:"status,omitempty"`
}

func (g *Gauge) DeepCopyObject() runtime.Object {
	out := *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// Meter is a custom kind that has no status.
type Meter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Limit uint64 `json:"limit"`
}

func (m *Meter) DeepCopyObject() runtime.Object {
	out := *m
	m.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func gauge() *Gauge {
	return &Gauge{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gauge"}}
}

var thingKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(thingKind.GroupVersion(), &Widget{}, &Gauge{}, &Meter{})
	scheme.AddKnownTypeWithName(thingKind, &unstructured.Unstructured{})
	return scheme
}

func widget() *Widget {
	return &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "widget"}, Spec: WidgetSpec{Size: 1}}
}

func TestGenerationMovesWithTheContent(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), widget())
	w := widget()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(w), w))
	require.Equal(t, int64(1), w.Generation)

	w.Labels = map[string]string{"a": "b"}
	require.NoError(t, c.Update(t.Context(), w))
	require.Equal(t, int64(1), w.Generation)

	w.Spec.Size = 2
	require.NoError(t, c.Update(t.Context(), w))
	require.Equal(t, int64(2), w.Generation)

	require.NoError(t, c.Status().Patch(t.Context(), w, merge(`{"status":{"conditions":[{"type":"Ready"}]}}`)))
	require.Equal(t, int64(2), w.Generation)

	w.Finalizers = []string{"example.com/wait"}
	require.NoError(t, c.Update(t.Context(), w))
	require.NoError(t, c.Delete(t.Context(), w))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(w), w))
	require.Equal(t, int64(3), w.Generation)
}

func TestSeedsKeepWhatTheyHave(t *testing.T) {
	seed := widget()
	seed.UID, seed.Generation = "given", 7
	seed.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
	c := ensuretest.NewClient(newScheme(t), seed)
	require.Empty(t, seed.ResourceVersion, "the object itself is the test's")

	live := widget()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(live), live))
	require.Equal(t, types.UID("given"), live.UID)
	require.Equal(t, int64(7), live.Generation)
	require.Len(t, live.Status.Conditions, 1)
	require.NotEmpty(t, live.ResourceVersion)
	require.NotEmpty(t, live.ManagedFields)
}

func TestScopes(t *testing.T) {
	scheme := newScheme(t)
	nowhere := widget()
	nowhere.Namespace = ""
	for _, test := range []struct {
		name       string
		client     *ensuretest.Client
		obj        client.Object
		namespaced bool
	}{
		{"built-in, namespaced", ensuretest.NewClient(scheme), &corev1.ConfigMap{}, true},
		{"built-in, and one of them in none", ensuretest.NewClient(scheme, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "nowhere"}}), &corev1.ConfigMap{}, true},
		{"built-in, in none", ensuretest.NewClient(scheme), &networkingv1.IngressClass{}, false},
		{"custom", ensuretest.NewClient(scheme), &Widget{}, true},
		{"custom, and one of them in none", ensuretest.NewClient(scheme, nowhere), &Widget{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			namespaced, err := test.client.IsObjectNamespaced(test.obj)
			require.NoError(t, err)
			require.Equal(t, test.namespaced, namespaced)
		})
	}
}

func TestUnstructuredKinds(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t))
	e := ensure.New(c, c.APIReader(), "web-operator")
	thing := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1), "none": []any{}}}}
		u.SetGroupVersionKind(thingKind)
		u.SetNamespace("default")
		u.SetName("thing")
		return u
	}
	result, err := ensure.Object(t.Context(), e, thing())
	require.NoError(t, err)
	require.Equal(t, ensure.Created, result.Operation)
	require.Equal(t, int64(1), result.Live.GetGeneration())

	live := thing()
	require.NoError(t, c.Status().Patch(t.Context(), live, merge(`{"status":{"phase":"Ready"}}`)))
	require.Equal(t, int64(1), live.GetGeneration())
	result, err = ensure.Object(t.Context(), e, thing())
	require.NoError(t, err)
	require.Equal(t, ensure.Unchanged, result.Operation)
}

func TestCustomKindsInNoNamespace(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t))
	nowhere := widget()
	nowhere.Namespace = ""
	require.NoError(t, c.Create(t.Context(), nowhere))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(nowhere), nowhere))
	require.Empty(t, nowhere.Namespace)
}

// The first write of a status is one request, as with a server, which has none before.
func TestFirstStatus(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), widget())
	w := widget()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(w), w))
	require.NoError(t, status.Patch(t.Context(), c, w, func(w *Widget) {
		set := status.For(w)
		set.True(&w.Status.Conditions, "Ready", "Done", "")
	}))
	require.Len(t, c.Requests(), 1)
	require.Equal(t, "patch status of Widget default/widget: status.conditions", c.Requests()[0].String())
}

// So it is if the Go type shows members of a status that is not there.
func TestFirstStatusWithoutOmitEmpty(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), gauge())
	g := live(t, c, gauge())
	require.NoError(t, status.Patch(t.Context(), c, g, func(g *Gauge) { g.Status.Replicas = 2 }))
	require.Len(t, c.Requests(), 1)
	require.Equal(t, "patch status of Gauge default/gauge: status.replicas 0 -> 2", c.Requests()[0].String())
}

// Numbers without a sign are kept as long as a server can hold them.
func TestUnsignedNumbers(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), gauge())
	g := live(t, c, gauge())
	g.Spec.Limit = 4
	require.NoError(t, c.Update(t.Context(), g))
	require.Equal(t, uint64(4), live(t, c, gauge()).Spec.Limit)
	require.Equal(t, int64(2), g.Generation)

	g.Spec.Limit = math.MaxUint64
	require.Error(t, c.Update(t.Context(), g))
	require.Equal(t, uint64(4), live(t, c, gauge()).Spec.Limit)

	other := gauge()
	other.Name, other.Spec.Limit = "other", math.MaxUint64
	meter := &Meter{ObjectMeta: other.ObjectMeta, Limit: math.MaxUint64}
	for _, tooMuch := range []client.Object{other, meter} {
		require.ErrorContains(t, c.Create(t.Context(), tooMuch), "does not fit into int64")
	}
}

func TestFinalizers(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), widget())
	cleaned := false
	pass := func() error {
		w := widget()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(w), w); err != nil {
			return err
		}
		_, err := finalizer.Handle(t.Context(), c, w, finalizer.Step{
			Name:    "example.com/row",
			Cleanup: func(context.Context) error { cleaned = true; return nil },
		})
		return err
	}
	require.NoError(t, pass())
	require.NoError(t, c.Delete(t.Context(), widget()))
	require.False(t, cleaned)
	require.NoError(t, pass())
	require.True(t, cleaned)
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(widget()), widget())))
}

// What an update would be told, a dry run is, and nothing else happens.
func TestDryRun(t *testing.T) {
	c := ensuretest.NewClient(clientgoscheme.Scheme, web())
	tried := web()
	tried.Spec.Replicas = new(int32(9))
	require.NoError(t, c.Update(t.Context(), tried, client.DryRunAll))
	require.Equal(t, int64(2), tried.Generation)

	live := web()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(live), live))
	require.Equal(t, int64(1), live.Generation)
	require.Equal(t, int32(2), *live.Spec.Replicas)

	require.NoError(t, c.Delete(t.Context(), live, client.DryRunAll))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(live), live))
}

func TestDryRunOfSubresources(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod"}}
	c := ensuretest.NewClient(clientgoscheme.Scheme, web(), pod)
	before := web()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(before), before))

	config := appsv1apply.Deployment("web", "default").WithStatus(appsv1apply.DeploymentStatus().WithReplicas(9))
	require.NoError(t, c.Status().Apply(t.Context(), config, client.FieldOwner("tester"), client.DryRunAll))
	require.Equal(t, int32(9), *config.Status.Replicas)
	require.Equal(t, before.ResourceVersion, *config.ResourceVersion)

	require.NoError(t, c.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{}, client.DryRunAll))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))

	after := web()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(after), after))
	require.Empty(t, cmp.Diff(before, after))
	require.NoError(t, c.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{}))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)))
}

// client-go's scheme is one for the whole process, and many add their kinds to it, as
// kubebuilder's scaffold does. It still says which kinds are Kubernetes' own.
func TestCustomKindsInTheGlobalScheme(t *testing.T) {
	clientgoscheme.Scheme.AddKnownTypes(thingKind.GroupVersion(), &Widget{})
	c := ensuretest.NewClient(clientgoscheme.Scheme, widget())
	e := ensure.New(c, c.APIReader(), "web-operator")
	bigger := widget()
	bigger.Spec.Size = 2
	result, err := ensure.Object(t.Context(), e, bigger, ensure.Adopt())
	require.NoError(t, err)
	require.Equal(t, ensure.Updated, result.Operation)
	require.NoError(t, c.Status().Patch(t.Context(), widget(), merge(`{"status":{"conditions":[{"type":"Ready"}]}}`)))
}

// controller-runtime's fake client adds to the scheme what it is given as unstructured.
func TestUnregisteredKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	stranger := func(name string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Stranger"})
		u.SetNamespace("default")
		u.SetName(name)
		return u
	}
	c := ensuretest.NewClient(scheme)
	require.NoError(t, c.Create(t.Context(), stranger("created")))
	e := ensure.New(c, c.APIReader(), "web-operator")
	result, err := ensure.Object(t.Context(), e, stranger("ensured"))
	require.NoError(t, err)
	require.Equal(t, ensure.Created, result.Operation)
	result, err = ensure.Object(t.Context(), e, stranger("ensured"))
	require.NoError(t, err)
	require.Equal(t, ensure.Unchanged, result.Operation)

	again := ensuretest.NewClient(scheme, stranger("seeded"))
	require.NoError(t, again.Get(t.Context(), client.ObjectKeyFromObject(stranger("seeded")), stranger("seeded")))
}
