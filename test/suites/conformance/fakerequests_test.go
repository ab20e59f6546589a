package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// requestDifferences are the differences that single requests show.
var requestDifferences = []difference{
	{
		page:  "Only the fields, types and keys of an apply are validated",
		where: []place{{"", "update with an invalid value"}, {"", "apply with a changed selector"}},
	},
	{
		page:  "An object of a custom kind needs no namespace",
		where: []place{{"", "create of a custom kind without a namespace"}},
	},
	{
		page:  "A namespace need not exist",
		where: []place{{"", "create in a namespace that is not there"}},
	},
	{
		page:  "A deleted object is gone at once, whatever the propagation",
		where: []place{{"", "delete in the foreground"}},
	},
	{
		page:  "There are no defaults",
		where: []place{{"", "create with defaults to be filled in"}},
	},
	{
		page:  "Since Kubernetes 1.37, an API server does not repeat a cause",
		since: "1.37",
		where: []place{
			{"", "apply with another UID"},
			{"", "new finalizer by an update"},
			{"", "new finalizer by a patch"},
			{"", "new finalizer by an apply"},
		},
	},
}

// An answer is the response to a request.
type answer struct {
	Code   int32
	Reason metav1.StatusReason
	Causes []string
	Shown  string // what the request was about, in the object as it is then
}

// A requestCase sends one or a few requests in its own namespace.
type requestCase struct {
	name string
	do   func(ctx context.Context, c client.Client, namespace string) (shown string, err error)
}

// TestFakeAnswersAsTheServer sends the same requests to ensuretest's fake client and to the API
// server, mainly requests that are refused.
func TestFakeAnswersAsTheServer(t *testing.T) {
	skipOlderFakes(t)
	require.NoError(t, prepare())
	met := &differencesMet{}
	for _, trial := range requestCases() {
		t.Run(trial.name, func(t *testing.T) {
			namespace := shared.Namespace(t)
			want := answered(trial.do(t.Context(), admin, namespace))
			got := answered(trial.do(t.Context(), ensuretest.NewClient(scheme), namespace))
			met.require(t, "", trial.name, gocmp.Diff(want, got))
		})
	}
	met.requireAll(t, requestDifferences)
}

func answered(shown string, err error) answer {
	a := answer{Shown: shown}
	var refusal apierrors.APIStatus
	switch {
	case err == nil:
		return a
	case !errors.As(err, &refusal):
		return answer{Shown: "no answer of a server: " + err.Error()}
	}
	a.Code, a.Reason = refusal.Status().Code, refusal.Status().Reason
	if details := refusal.Status().Details; details != nil {
		for _, cause := range details.Causes {
			a.Causes = append(a.Causes, string(cause.Type)+" "+cause.Field)
		}
	}
	return a
}

func color(namespace, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "config"}, Data: map[string]string{"color": value}}
}

// applies sends an apply.
func applies(ctx context.Context, c client.Client, obj client.Object, body string, opts ...client.PatchOption) error {
	return c.Patch(ctx, obj, client.RawPatch(types.ApplyPatchType, []byte(body)), append(opts, client.FieldOwner("applier"))...)
}

func redBody(metadata string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config"` + metadata + `},"data":{"color":"red"}}`
}

const createOnly = `,"resourceVersion":"4611686018427387904"`

// onColor returns a requestCase with a ConfigMap that is there.
func onColor(name string, do func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error) requestCase {
	return requestCase{name: name, do: func(ctx context.Context, c client.Client, namespace string) (string, error) {
		live := color(namespace, "blue")
		if err := c.Create(ctx, live, client.FieldOwner("creator")); err != nil {
			return "", err
		}
		return "", do(ctx, c, live)
	}}
}

// onGoing returns a requestCase with a ConfigMap that is being deleted and waits for its finalizer.
func onGoing(name string, do func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error) requestCase {
	return onColor(name, func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
		live.Finalizers = []string{"example.com/wait"}
		if err := c.Update(ctx, live, client.FieldOwner("creator")); err != nil {
			return err
		}
		if err := c.Delete(ctx, live); err != nil {
			return err
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		return errors.Join(do(ctx, c, live), client.IgnoreNotFound(c.Patch(ctx, color(live.Namespace, ""), patch)))
	})
}

func small(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "small"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "small"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
			},
		},
	}
}

func requestCases() []requestCase {
	return append(slices.Concat(refusedRequests(), mismatchedRequests(), partialRequests(), callerRequests()),
		requestCase{"create-only apply", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := color(ns, "")
			err := applies(ctx, c, obj, redBody(createOnly))
			return obj.Data["color"], err
		}},
		requestCase{"stringData", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}, StringData: map[string]string{"a": "b"}}
			err := c.Create(ctx, obj)
			return string(obj.Data["a"]) + obj.StringData["a"], err
		}},
		requestCase{"generated name", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := color(ns, "red")
			obj.Name, obj.GenerateName = "", "config-"
			err := c.Create(ctx, obj)
			return obj.Name[:len("config-")], err
		}},
		requestCase{"create as a dry run", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := color(ns, "red")
			if err := c.Create(ctx, obj, client.DryRunAll); err != nil || obj.UID == "" {
				return "no UID", err
			}
			return "version " + obj.ResourceVersion, c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		}},
		requestCase{"status on create", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := &Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "g"}, Status: GadgetStatus{Phase: "made"}}
			err := c.Create(ctx, obj)
			return obj.Status.Phase, err
		}},
		requestCase{"status patch as a dry run", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := &Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "g"}}
			if err := c.Create(ctx, obj); err != nil {
				return "", err
			}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"tried"}}`))
			err := c.Status().Patch(ctx, obj, patch, client.DryRunAll)
			return obj.Status.Phase, err
		}},
		requestCase{"status apply as a dry run", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := small(ns)
			if err := c.Create(ctx, obj); err != nil {
				return "", err
			}
			config := appsv1apply.Deployment("small", ns).WithStatus(appsv1apply.DeploymentStatus().WithCollisionCount(9))
			if err := c.Status().Apply(ctx, config, client.FieldOwner("applier"), client.DryRunAll); err != nil {
				return "", err
			}
			err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			return fmt.Sprintf("tried %d, stored %d", *config.Status.CollisionCount, ptr.Deref(obj.Status.CollisionCount, 0)), err
		}},
		requestCase{"eviction as a dry run", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pod"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
			}
			if err := c.Create(ctx, obj); err != nil {
				return "", err
			}
			if err := c.SubResource("eviction").Create(ctx, obj, &policyv1.Eviction{}, client.DryRunAll); err != nil {
				return "", err
			}
			return "", c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		}},
		requestCase{"create of what is in no namespace, in one", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: ns}}
			err := c.Create(ctx, obj)
			return "in '" + obj.Namespace + "'", errors.Join(err, client.IgnoreNotFound(c.Delete(ctx, obj)))
		}},
		requestCase{"JSON patch of a status that there is not", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := &Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "g"}}
			if err := c.Create(ctx, obj); err != nil {
				return "", err
			}
			patch := []byte(`[{"op":"test","path":"/status","value":null},{"op":"add","path":"/status","value":{"phase":"first"}}]`)
			err := c.Status().Patch(ctx, obj, client.RawPatch(types.JSONPatchType, patch))
			return obj.Status.Phase, err
		}},
		requestCase{"apply configuration", func(ctx context.Context, c client.Client, ns string) (string, error) {
			config := corev1apply.ConfigMap("config", ns).WithData(map[string]string{"color": "red"})
			err := c.Apply(ctx, config, client.FieldOwner("applier"))
			return config.Data["color"] + string((*config.UID)[:0]), err
		}},
		requestCase{"apply of a NetworkPolicy", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "closed"}}
			body := `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"closed"},` +
				`"spec":{"podSelector":{},"policyTypes":["Ingress"],"ingress":[]}}`
			err := applies(ctx, c, obj, body)
			return string(obj.Spec.PolicyTypes[0]), err
		}},
		requestCase{"create with defaults to be filled in", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := small(ns)
			err := c.Create(ctx, obj)
			return string(obj.Spec.Strategy.Type), err
		}},
		requestCase{"the last finalizer is gone by an apply", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := color(ns, "")
			if err := applies(ctx, c, obj, redBody(`,"finalizers":["example.com/wait"]`)); err != nil {
				return "", err
			}
			if err := c.Delete(ctx, obj); err != nil {
				return "", err
			}
			if err := applies(ctx, c, obj, redBody("")); err != nil {
				return "", err
			}
			return "", c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		}},
		requestCase{"delete in the foreground", func(ctx context.Context, c client.Client, ns string) (string, error) {
			owner, child := color(ns, "owner"), color(ns, "child")
			if err := c.Create(ctx, owner); err != nil {
				return "", err
			}
			child.Name = "child"
			child.Finalizers = []string{"example.com/wait"}
			child.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true)},
			}
			if err := c.Create(ctx, child); err != nil {
				return "", err
			}
			if err := c.Delete(ctx, owner, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
				return "", err
			}
			err := c.Get(ctx, client.ObjectKeyFromObject(owner), owner)
			child.Finalizers = nil
			return strings.Join(owner.Finalizers, ""), errors.Join(err, client.IgnoreNotFound(c.Patch(ctx, child,
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))))
		}},
	)
}

// refusedRequests are requests that a server refuses. The fake client refuses most of them, too.
func refusedRequests() []requestCase {
	return []requestCase{
		onColor("create what exists", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return c.Create(ctx, color(live.Namespace, "red"))
		}),
		onColor("create-only apply of what exists", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return applies(ctx, c, live, redBody(createOnly), client.ForceOwnership)
		}),
		onColor("apply with an old resourceVersion", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			old := live.ResourceVersion
			live.Data["color"] = "green"
			if err := c.Update(ctx, live); err != nil {
				return err
			}
			return applies(ctx, c, live, redBody(`,"resourceVersion":"`+old+`"`), client.ForceOwnership)
		}),
		onColor("apply with another UID", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return applies(ctx, c, live, redBody(`,"uid":"c0ffee"`), client.ForceOwnership)
		}),
		{"apply with the UID of what is gone", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", applies(ctx, c, color(ns, ""), redBody(`,"uid":"c0ffee"`))
		}},
		onColor("apply of another's field", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return applies(ctx, c, live, redBody(""))
		}),
		onColor("apply of an unknown field", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return applies(ctx, c, live, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config"},"colour":"red"}`)
		}),
		onColor("apply of a wrong type", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return applies(ctx, c, live, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config"},"data":["red"]}`)
		}),
		onColor("apply by nobody", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return c.Patch(ctx, live, client.RawPatch(types.ApplyPatchType, []byte(redBody(""))))
		}),
		{"apply of a key twice", func(ctx context.Context, c client.Client, ns string) (string, error) {
			body := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"twice"},` +
				`"spec":{"ports":[{"port":80,"protocol":"TCP"},{"port":80,"protocol":"TCP"}]}}`
			return "", applies(ctx, c, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "twice"}}, body)
		}},
		onColor("update with an old resourceVersion", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			newer := live.DeepCopy()
			newer.Data["color"] = "green"
			if err := c.Update(ctx, newer); err != nil {
				return err
			}
			return c.Update(ctx, live)
		}),
		onColor("update with another UID", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			live.UID = "c0ffee"
			return c.Update(ctx, live)
		}),
		{"update of what is not there", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", c.Update(ctx, color(ns, "red"))
		}},
		onColor("JSON patch whose test fails", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			patch := []byte(`[{"op":"test","path":"/metadata/uid","value":"c0ffee"},{"op":"remove","path":"/data"}]`)
			return c.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
		}),
		onColor("JSON patch of the UID's object", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			patch := []byte(`[{"op":"test","path":"/metadata/uid","value":"` + string(live.UID) + `"},{"op":"remove","path":"/data"}]`)
			return c.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
		}),
		{"merge patch of what is not there", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", c.Patch(ctx, color(ns, ""), client.RawPatch(types.MergePatchType, []byte(`{"data":{"a":"b"}}`)))
		}},
		onColor("delete of another UID", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return c.Delete(ctx, live, client.Preconditions{UID: new(types.UID("c0ffee"))})
		}),
		onColor("delete of another resourceVersion", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return c.Delete(ctx, live, client.Preconditions{ResourceVersion: new("999999999")})
		}),
		{"delete of what is not there", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", c.Delete(ctx, color(ns, ""))
		}},
		onColor("status of a kind that has none", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return c.Status().Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(`{"status":{}}`)))
		}),
		{"update with an invalid value", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := small(ns)
			obj.Spec.Replicas = new(int32(-1))
			return "", c.Create(ctx, obj)
		}},
		{"apply with a changed selector", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := small(ns)
			if err := c.Create(ctx, obj); err != nil {
				return "", err
			}
			body := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"small"},"spec":{"selector":{"matchLabels":{"app":"big"}}}}`
			return "", applies(ctx, c, obj, body, client.ForceOwnership)
		}},
		onGoing("new finalizer by an update", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			live.Finalizers = append(live.Finalizers, "example.com/new")
			return c.Update(ctx, live)
		}),
		onGoing("new finalizer by a patch", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			patch := []byte(`{"metadata":{"finalizers":["example.com/wait","example.com/new"]}}`)
			return c.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch))
		}),
		onGoing("new finalizer by an apply", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return applies(ctx, c, live, redBody(`,"finalizers":["example.com/new"]`), client.ForceOwnership)
		}),
		onGoing("one finalizer less", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			live.Finalizers = live.Finalizers[:0]
			return c.Update(ctx, live)
		}),
		{"create without a namespace", func(ctx context.Context, c client.Client, _ string) (string, error) {
			return "", c.Create(ctx, color("", "red"))
		}},
		{"create of a custom kind without a namespace", func(ctx context.Context, c client.Client, _ string) (string, error) {
			return "", c.Create(ctx, &Gadget{ObjectMeta: metav1.ObjectMeta{Name: "g"}})
		}},
		{"update without a namespace", func(ctx context.Context, c client.Client, _ string) (string, error) {
			return "", c.Update(ctx, color("", "red"))
		}},
		{"apply without a namespace", func(ctx context.Context, c client.Client, _ string) (string, error) {
			return "", applies(ctx, c, color("", "red"), redBody(""))
		}},
		{"delete without a namespace", func(ctx context.Context, c client.Client, _ string) (string, error) {
			return "", c.Delete(ctx, color("", "red"))
		}},
		{"create in a namespace that is not there", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", c.Create(ctx, color(ns+"-not", "red"))
		}},
	}
}
