package ensuretest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/internal/consistency"
)

const another = types.UID("c0ffee")

// live is obj as it is stored.
func live[O client.Object](t *testing.T, c client.Reader, obj O) O {
	t.Helper()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	return obj
}

func jsonPatch(body string) client.Patch { return client.RawPatch(types.JSONPatchType, []byte(body)) }

func applyPatch(body string) client.Patch { return client.RawPatch(types.ApplyPatchType, []byte(body)) }

// body is that of an apply of settings.
func body(metadata, rest string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"` + metadata + `}` + rest + `}`
}

// A brokenPatch has no body.
type brokenPatch types.PatchType

var errNoBody = errors.New("there is no body")

func (p brokenPatch) Type() types.PatchType            { return types.PatchType(p) }
func (brokenPatch) Data(client.Object) ([]byte, error) { return nil, errNoBody }

// A brokenConfiguration has no JSON form.
type brokenConfiguration struct{}

func (brokenConfiguration) IsApplyConfiguration()        {}
func (brokenConfiguration) MarshalJSON() ([]byte, error) { return nil, errNoBody }

// What is refused changes nothing.
func TestRefusals(t *testing.T) {
	type request func(ctx context.Context, c client.Client) error
	patched := func(obj client.Object, patch client.Patch, opts ...client.PatchOption) request {
		return func(ctx context.Context, c client.Client) error { return c.Patch(ctx, obj, patch, opts...) }
	}
	applied := func(obj client.Object, body string, opts ...client.PatchOption) request {
		return patched(obj, applyPatch(body), append(opts, client.FieldOwner("applier"))...)
	}
	deleted := func(opts ...client.DeleteOption) request {
		return func(ctx context.Context, c client.Client) error { return c.Delete(ctx, settings(""), opts...) }
	}
	updated := func(change func(*corev1.ConfigMap), opts ...client.UpdateOption) request {
		return func(ctx context.Context, c client.Client) error {
			obj := settings("")
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			obj.Data["text"] = "goodbye"
			change(obj)
			return c.Update(ctx, obj, opts...)
		}
	}
	strategic := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"size":2}}`))
	otherUID := func(obj *corev1.ConfigMap) { obj.UID = another }

	for _, test := range []struct {
		name   string
		do     request
		reason metav1.StatusReason
	}{
		{"update of another object", updated(otherUID), metav1.StatusReasonConflict},
		{"update of another object, as a dry run", updated(otherUID, client.DryRunAll), metav1.StatusReasonConflict},
		{"update of an old version", updated(func(obj *corev1.ConfigMap) { obj.ResourceVersion = "1000" }), metav1.StatusReasonConflict},
		{"delete of another object", deleted(client.Preconditions{UID: new(another)}), metav1.StatusReasonConflict},
		{"delete of another object, as a dry run", deleted(client.Preconditions{UID: new(another)}, client.DryRunAll), metav1.StatusReasonConflict},
		{"delete of an old version", deleted(client.Preconditions{ResourceVersion: new("1000")}), metav1.StatusReasonConflict},

		{"apply of another object", applied(settings(""), body(`,"uid":"c0ffee"`, ""), client.ForceOwnership), metav1.StatusReasonInvalid},
		{"apply of an old version", applied(settings(""), body(`,"resourceVersion":"1000"`, ""), client.ForceOwnership), metav1.StatusReasonConflict},
		{"apply of another's field", applied(settings(""), body("", `,"data":{"text":"goodbye"}`)), metav1.StatusReasonConflict},
		{"apply of an unknown field", applied(settings(""), body("", `,"text":"goodbye"`)), metav1.StatusReasonUnknown},
		{"apply by nobody", patched(settings(""), applyPatch(body("", ""))), metav1.StatusReasonInvalid},
		{"apply of no JSON", applied(settings(""), "{"), metav1.StatusReasonBadRequest},

		{"JSON patch whose test fails", patched(settings(""), jsonPatch(`[{"op":"test","path":"/data/text","value":"goodbye"}]`)), metav1.StatusReasonInvalid},
		{"JSON patch that is no list", patched(settings(""), jsonPatch(`{}`)), metav1.StatusReasonInvalid},
		{"JSON patch that is no list, of a custom kind", patched(widget(), jsonPatch(`{}`)), metav1.StatusReasonInvalid},
		{"patch in no namespace", patched(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, merge(`{}`)), metav1.StatusReasonNotFound},
		{"strategic merge patch of a custom kind", patched(widget(), strategic), metav1.StatusReasonUnsupportedMediaType},
		{"strategic merge patch of a custom status", func(ctx context.Context, c client.Client) error {
			return c.Status().Patch(ctx, widget(), strategic)
		}, metav1.StatusReasonUnsupportedMediaType},
		{"update of a custom kind without a version", func(ctx context.Context, c client.Client) error {
			return c.Update(ctx, widget())
		}, metav1.StatusReasonInvalid},
		{"deletion of all in no namespace", func(ctx context.Context, c client.Client) error {
			return c.DeleteAllOf(ctx, &corev1.ConfigMap{})
		}, metav1.StatusReasonMethodNotAllowed},
		{"apply of another name", applied(settings(""), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}`), metav1.StatusReasonBadRequest},
		{"apply of another namespace", applied(settings(""), body(`,"namespace":"other"`, "")), metav1.StatusReasonBadRequest},
		{"apply of another kind", applied(settings(""), `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"settings"}}`), metav1.StatusReasonBadRequest},
		{"scale of what is not there", func(ctx context.Context, c client.Client) error {
			absent := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "absent"}}
			return c.SubResource("scale").Update(ctx, absent, client.WithSubResourceBody(&autoscalingv1.Scale{}))
		}, metav1.StatusReasonNotFound},
		{"status of a kind without one", func(ctx context.Context, c client.Client) error {
			return c.Status().Patch(ctx, settings(""), merge(`{"status":{}}`))
		}, metav1.StatusReasonNotFound},
		{"apply of a status by nobody", func(ctx context.Context, c client.Client) error {
			return c.Status().Apply(ctx, appsv1apply.Deployment("web", "default"))
		}, metav1.StatusReasonInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := ensuretest.NewClient(newScheme(t), settings("hello"), widget(), web())
			all := func() []client.Object {
				return []client.Object{live(t, c, settings("")), live(t, c, widget()), live(t, c, web())}
			}
			before := all()
			err := test.do(t.Context(), c)
			require.Error(t, err)
			require.Equal(t, test.reason, apierrors.ReasonForError(err), "%v", err)
			require.Empty(t, cmp.Diff(before, all()))
		})
	}
}

// An apply makes an object; that of its status does not, nor does one without a name.
func TestAppliesThatMakeNothing(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t))
	for _, opts := range [][]client.SubResourceApplyOption{{}, {client.DryRunAll}} {
		config := appsv1apply.Deployment("web", "default").WithStatus(appsv1apply.DeploymentStatus().WithReplicas(2))
		err := c.Status().Apply(t.Context(), config, append(opts, client.FieldOwner("applier"))...)
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	}
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(web()), web())))

	nameless := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	patch := applyPatch(`{"apiVersion":"v1","kind":"ConfigMap"}`)
	require.ErrorContains(t, c.Patch(t.Context(), nameless, patch, client.FieldOwner("applier")), "name may not be empty")
	var all corev1.ConfigMapList
	require.NoError(t, c.List(t.Context(), &all))
	require.Empty(t, all.Items)
}

// What is refused makes nothing.
func TestRefusedBeginnings(t *testing.T) {
	gone := body(`,"uid":"c0ffee"`, "")
	unknown := body("", `,"text":"hello"`)
	for _, test := range []struct{ name, body, problem string }{
		{"of what is gone", gone, "uid mismatch"},
		{"of an unknown field", unknown, "field not declared in schema"},
		{"of no kind", `{"metadata":{"name":"settings"}}`, "Kind"},
		{"of another kind", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"settings"}}`, "invalid object type"},
		{"of no name", `{"apiVersion":"v1","kind":"ConfigMap"}`, "name must be provided"},
	} {
		for mode, opts := range map[string][]client.PatchOption{
			"":         {client.FieldOwner("applier")},
			"/dry run": {client.FieldOwner("applier"), client.DryRunAll},
		} {
			t.Run(test.name+mode, func(t *testing.T) {
				c := ensuretest.NewClient(newScheme(t))
				require.ErrorContains(t, c.Patch(t.Context(), settings(""), applyPatch(test.body), opts...), test.problem)
				require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(settings("")), settings(""))))
			})
		}
	}
}

// The object that a caller passed is as it was after a refusal, ready to be sent again.
func TestRefusalsLeaveTheObject(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), settings("hello"))
	obj := settings("goodbye")
	for _, opts := range [][]client.CreateOption{{}, {client.DryRunAll}} {
		require.True(t, apierrors.IsAlreadyExists(c.Create(t.Context(), obj, opts...)))
		require.Empty(t, cmp.Diff(settings("goodbye"), obj))
	}
	require.NoError(t, c.Update(t.Context(), obj))

	w := widget()
	require.True(t, apierrors.IsNotFound(c.Status().Update(t.Context(), w)))
	require.Empty(t, cmp.Diff(widget(), w))
}

// A scale says how many, and nothing of the rest, however little of the object is known.
func TestScaleOfWhatIsOnlyNamed(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), web())
	named := &appsv1.Deployment{ObjectMeta: web().ObjectMeta}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	require.NoError(t, c.SubResource("scale").Update(t.Context(), named, client.WithSubResourceBody(scale)))
	want := web().Spec
	want.Replicas = new(int32(5))
	require.Empty(t, cmp.Diff(want, live(t, c, web()).Spec))
}

// What is going may lose finalizers, and gets no new ones.
func TestFinalizersOfWhatIsGoing(t *testing.T) {
	const extended = `"finalizers":["example.com/wait","example.com/new"]`
	for name, do := range map[string]func(ctx context.Context, c client.Client, going *corev1.ConfigMap) error{
		"update": func(ctx context.Context, c client.Client, going *corev1.ConfigMap) error {
			going.Finalizers = append(going.Finalizers, "example.com/new")
			return c.Update(ctx, going)
		},
		"patch": func(ctx context.Context, c client.Client, going *corev1.ConfigMap) error {
			return c.Patch(ctx, going, merge(`{"metadata":{`+extended+`}}`))
		},
		"apply": func(ctx context.Context, c client.Client, going *corev1.ConfigMap) error {
			return c.Patch(ctx, going, applyPatch(body(","+extended, "")), client.FieldOwner("applier"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			seed := settings("hello")
			seed.Finalizers = []string{"example.com/wait"}
			c := ensuretest.NewClient(newScheme(t), seed)
			require.NoError(t, c.Delete(t.Context(), seed))
			before := live(t, c, settings(""))

			require.True(t, apierrors.IsInvalid(do(t.Context(), c, before.DeepCopy())))
			require.Empty(t, cmp.Diff(before, live(t, c, settings(""))))

			require.NoError(t, c.Patch(t.Context(), before, merge(`{"metadata":{"labels":{"a":"b"}}}`)))
			require.Equal(t, map[string]string{"a": "b"}, live(t, c, settings("")).Labels)
		})
	}
}

// An apply that leaves out the last finalizer, which it applied before, ends what is going.
func TestApplyThatLetsGo(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t))
	apply := func(metadata string) error {
		return c.Patch(t.Context(), settings(""), applyPatch(body(metadata, "")), client.FieldOwner("applier"))
	}
	require.NoError(t, apply(`,"finalizers":["example.com/wait"]`))
	require.NoError(t, c.Delete(t.Context(), settings("")))
	require.NotNil(t, live(t, c, settings("")).DeletionTimestamp)
	require.NoError(t, apply(""))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(settings("")), settings(""))))
}

// A client finds out before it asks a server that an object needs a namespace, of
// Kubernetes' own kinds, and leaves out the one of an object whose kind is in none.
func TestNamespaces(t *testing.T) {
	ctx := t.Context()
	nowhere := func() *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}} }
	c := ensuretest.NewClient(newScheme(t))
	require.ErrorContains(t, c.Create(ctx, nowhere()), "an empty namespace may not be set during creation")
	require.ErrorContains(t, c.Update(ctx, nowhere()), "an empty namespace may not be set when a resource name is provided")
	require.ErrorContains(t, c.Delete(ctx, nowhere()), "an empty namespace may not be set when a resource name is provided")

	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "class"}}
	require.NoError(t, c.Create(ctx, class))
	require.Empty(t, class.Namespace)
	live(t, c, &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}})
}

// A kind that the scheme does not have is refused, whatever is to be done with it.
func TestKindsThatAreNotInTheScheme(t *testing.T) {
	ctx := t.Context()
	c := ensuretest.NewClient(runtime.NewScheme())
	for name, err := range map[string]error{
		"create":            c.Create(ctx, widget()),
		"update":            c.Update(ctx, widget()),
		"patch":             c.Patch(ctx, widget(), merge(`{}`)),
		"apply":             c.Patch(ctx, widget(), applyPatch(`{}`), client.FieldOwner("applier")),
		"delete":            c.Delete(ctx, widget()),
		"delete all of":     c.DeleteAllOf(ctx, widget()),
		"status":            c.Status().Patch(ctx, widget(), merge(`{}`)),
		"status, dry run":   c.Status().Update(ctx, widget(), client.DryRunAll),
		"status, JSON":      c.Status().Patch(ctx, widget(), jsonPatch(`[]`)),
		"typed apply":       c.Apply(ctx, &widgetConfiguration{}, client.FieldOwner("applier")),
		"typed, of no kind": c.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{}), client.FieldOwner("applier")),
	} {
		require.Error(t, err, name)
	}
	require.Panics(t, func() { ensuretest.NewClient(runtime.NewScheme(), widget()) })
}

type widgetConfiguration struct{ Widget }

func (*widgetConfiguration) IsApplyConfiguration() {}

func TestWhatCannotBeSent(t *testing.T) {
	ctx := t.Context()
	c := ensuretest.NewClient(newScheme(t), widget())
	before := live(t, c, widget())
	for _, kind := range []types.PatchType{types.MergePatchType, types.JSONPatchType, types.ApplyPatchType} {
		require.Error(t, c.Patch(ctx, widget(), brokenPatch(kind), client.FieldOwner("applier")), kind)
	}
	require.ErrorIs(t, c.Apply(ctx, brokenConfiguration{}, client.FieldOwner("applier")), errNoBody)
	require.Empty(t, cmp.Diff(before, live(t, c, widget())))
}

// What is applied in Go types is refused as a body is, and left as it was.
func TestRefusedConfigurations(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), settings("hello"))
	config := corev1apply.ConfigMap("settings", "default").WithData(map[string]string{"text": "goodbye"})
	require.True(t, apierrors.IsConflict(c.Apply(t.Context(), config, client.FieldOwner("applier"))))
	require.Equal(t, map[string]string{"text": "goodbye"}, config.Data)
	require.Nil(t, config.UID)
	require.Equal(t, "hello", live(t, c, settings("")).Data["text"])
}

// The status is applied beside what is specified, and the answer is the whole object.
func TestApplyOfAStatus(t *testing.T) {
	c := ensuretest.NewClient(newScheme(t), web())
	config := appsv1apply.Deployment("web", "default").WithStatus(appsv1apply.DeploymentStatus().WithReplicas(2))
	require.NoError(t, c.Status().Apply(t.Context(), config, client.FieldOwner("applier")))
	if consistency.IsSupported() { // before controller-runtime v0.25, the fake client's answer has what was applied only
		require.Equal(t, int32(2), *config.Spec.Replicas)
	}
	stored := live(t, c, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	require.Equal(t, int32(2), stored.Status.Replicas)
	require.Equal(t, int64(1), stored.Generation)
}
