package ensuretest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trueup-go/trueup/ensure/ensuretest"
)

func web() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
}

func merge(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }

// Whatever a client can do, each of it is told by its name.
func TestRequests(t *testing.T) {
	ctx := t.Context()
	c := ensuretest.NewClient(scheme.Scheme)
	config := corev1apply.ConfigMap("settings", "default").WithData(map[string]string{"text": "hello"})
	scaled := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}

	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return c.Create(ctx, web()) }, "create Deployment default/web: created"},
		{func() error { return c.Create(ctx, web()) }, "create Deployment default/web: failed: AlreadyExists"},
		{func() error { return c.Create(ctx, web(), client.DryRunAll) }, "create Deployment default/web (dry run): failed: AlreadyExists"},
		{func() error { return c.Patch(ctx, web(), merge(`{"spec":{"replicas":3}}`)) }, "patch Deployment default/web: spec.replicas 2 -> 3"},
		{func() error { return c.Patch(ctx, web(), merge(`{"spec":{"replicas":3}}`)) }, "patch Deployment default/web: changed nothing"},
		{func() error { return c.Update(ctx, web(), client.DryRunAll) }, "update Deployment default/web (dry run)"},
		{
			func() error { return c.SubResource("scale").Update(ctx, web(), client.WithSubResourceBody(scaled)) },
			"update scale of Deployment default/web: spec.replicas 3 -> 5",
		},
		{func() error { return c.SubResource("scale").Get(ctx, web(), scaled) }, "get scale of Deployment default/web"},
		{
			func() error { return c.Status().Patch(ctx, web(), merge(`{"status":{"replicas":5}}`)) },
			"patch status of Deployment default/web: status.replicas none -> 5",
		},
		{func() error { return c.Apply(ctx, config, client.FieldOwner("x")) }, "apply ConfigMap default/settings: created"},
		{func() error { return c.APIReader().List(ctx, &corev1.ConfigMapList{}, client.InNamespace("default")) }, "list ConfigMapList in default"},
		{func() error { return c.APIReader().List(ctx, &corev1.NodeList{}) }, "list NodeList"},
		{
			func() error {
				return c.Patch(ctx, settings(""), merge(`{"metadata":{"finalizers":["example.com/wait"]}}`))
			},
			"patch ConfigMap default/settings: metadata.finalizers",
		},
		{func() error { return c.Delete(ctx, settings("")) }, "delete ConfigMap default/settings: terminating"},
		{
			func() error { return c.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace("default")) },
			"deletecollection Deployment in default",
		},
		{
			func() error { return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}) },
			"create Namespace shop: created",
		},
	} {
		before := len(c.Requests())
		_ = step.do()
		requests := c.Requests()[before:]
		require.Len(t, requests, 1, step.want)
		require.Empty(t, cmp.Diff(step.want, requests[0].String()))
	}
}

// A name that the server made is told: it is what a reconcile that makes another object in
// each pass is found by.
func TestGeneratedNames(t *testing.T) {
	c := ensuretest.NewClient(scheme.Scheme)
	obj := settings("")
	obj.Name, obj.GenerateName = "", "settings-"
	require.NoError(t, c.Create(t.Context(), obj))
	require.Equal(t, client.ObjectKeyFromObject(obj), c.Requests()[0].Key)
	require.Equal(t, "create ConfigMap default/"+obj.Name+": created", c.Requests()[0].String())
}

func TestWatch(t *testing.T) {
	c := ensuretest.NewClient(scheme.Scheme)
	watching, err := c.Watch(t.Context(), &corev1.ConfigMapList{})
	require.NoError(t, err)
	defer watching.Stop()
	require.NoError(t, c.Create(t.Context(), settings("hello")))
	require.Equal(t, "settings", (<-watching.ResultChan()).Object.(*corev1.ConfigMap).Name)

	_, err = ensuretest.Count(struct{ client.Client }{c}, c).Watch(t.Context(), &corev1.ConfigMapList{})
	require.ErrorContains(t, err, "cannot watch")
}

// fake.AddIndex takes controller-runtime's own client only, and finds that in ours since v0.25.
func TestUnwrap(t *testing.T) {
	c := ensuretest.NewClient(scheme.Scheme, settings("hello"), web())
	byText := func(obj client.Object) []string { return []string{obj.(*corev1.ConfigMap).Data["text"]} }
	require.NoError(t, fake.AddIndex(c.Unwrap(), &corev1.ConfigMap{}, "text", byText))

	var found corev1.ConfigMapList
	require.NoError(t, c.List(t.Context(), &found, client.MatchingFields{"text": "hello"}))
	require.Len(t, found.Items, 1)
	require.NoError(t, c.List(t.Context(), &found, client.MatchingFields{"text": "goodbye"}))
	require.Empty(t, found.Items)
}

func TestErrorsAreKept(t *testing.T) {
	c := ensuretest.NewClient(scheme.Scheme)
	err := c.Update(t.Context(), settings("hello"))
	require.Error(t, err)
	require.ErrorIs(t, c.Requests()[0].Err, err)
}
