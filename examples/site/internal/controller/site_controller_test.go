package controller_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
	wordsv1alpha1 "github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/examples/site/internal/controller"
)

var key = client.ObjectKey{Namespace: "default", Name: "shop"} // of the Site and of all children

// newPass returns a fake client with a Site, and a function that reconciles the Site.
func newPass(t *testing.T) (*ensuretest.Client, func(context.Context) error) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1.AddToScheme(scheme))
	require.NoError(t, wordsv1alpha1.AddToScheme(scheme))
	site := &v1.Site{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       v1.SiteSpec{Title: "Shop", AppVersion: "1"},
	}
	c := ensuretest.NewClient(scheme, site)
	r, err := controller.New(operatortest.Manager(c), nil)
	require.NoError(t, err)
	return c, operatortest.Pass(c, r, site)
}

func get[T client.Object](t *testing.T, c client.Client, obj T) T {
	t.Helper()
	require.NoError(t, c.Get(t.Context(), key, obj))
	return obj
}

func requireReady(t *testing.T, c client.Client, want metav1.ConditionStatus, reason string) {
	t.Helper()
	ready := meta.FindStatusCondition(get(t, c, &v1.Site{}).Status.Conditions, "Ready")
	require.NotNil(t, ready)
	require.Equal(t, want, ready.Status, ready)
	require.Equal(t, reason, ready.Reason, ready)
}

func TestConverges(t *testing.T) {
	c, pass := newPass(t)

	// Three children and a status.
	require.Len(t, ensuretest.Converge(t, c, pass), 4)
	require.Empty(t, ensuretest.Converge(t, c, pass))
	requireReady(t, c, metav1.ConditionFalse, "InProgress")

	app := get(t, c, &wordsv1alpha1.ReverseWordsApp{})
	app.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Available"}}
	require.NoError(t, c.Status().Update(t.Context(), app))
	require.Len(t, ensuretest.Converge(t, c, pass), 1)
	requireReady(t, c, metav1.ConditionTrue, "Ready")

	// The app's operator or a user may set a field that the Site does not specify.
	app.Spec.Replicas, app.Spec.ServiceType = 5, corev1.ServiceTypeNodePort
	require.NoError(t, c.Update(t.Context(), app))
	requests := ensuretest.Converge(t, c, pass)
	require.Len(t, requests, 1)
	require.Equal(t, "apply ReverseWordsApp default/shop: spec.replicas 5 -> 2", requests[0].String())
	require.Equal(t, corev1.ServiceTypeNodePort, get(t, c, app).Spec.ServiceType)
}

func TestPlain(t *testing.T) {
	c, pass := newPass(t)
	ensuretest.Converge(t, c, pass)
	app := get(t, c, &wordsv1alpha1.ReverseWordsApp{})
	app.Finalizers = []string{wordsv1alpha1.Finalizer}
	require.NoError(t, c.Update(t.Context(), app))

	site := get(t, c, &v1.Site{})
	site.Spec.Plain = true
	require.NoError(t, c.Update(t.Context(), site))
	ensuretest.Converge(t, c, pass)
	requireReady(t, c, metav1.ConditionFalse, "Pruning")
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), key, &networkingv1.Ingress{})))

	app = get(t, c, app)
	app.Finalizers = nil
	require.NoError(t, c.Update(t.Context(), app))
	ensuretest.Converge(t, c, pass)
	requireReady(t, c, metav1.ConditionTrue, "Plain")
	get(t, c, &corev1.ConfigMap{})
}

func TestChildLabels(t *testing.T) {
	_, err := controller.New(operatortest.Manager(ensuretest.NewClient(runtime.NewScheme())),
		map[string]string{"app.kubernetes.io/managed-by": "me"})
	require.ErrorContains(t, err, "is a label of the operator's own")
}
