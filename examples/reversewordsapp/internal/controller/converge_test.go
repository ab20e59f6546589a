package controller //nolint:testpackage // tests unexported functions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/reversewordsapp/templates"
)

// newPass returns a fake client with a ReverseWordsApp of two pods, and a function that reconciles it.
func newPass(t *testing.T) (*ensuretest.Client, *v1alpha1.ReverseWordsApp, func(context.Context) error) {
	t.Helper()
	c, app, pass, _ := newPassWith(t, "")
	return c, app, pass
}

// newPassWith is newPass with the templates in dir.
func newPassWith(t *testing.T, dir string) (
	*ensuretest.Client, *v1alpha1.ReverseWordsApp, func(context.Context) error, *manifest.Folder,
) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	app := &v1alpha1.ReverseWordsApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "words"},
		Spec:       v1alpha1.ReverseWordsAppSpec{Replicas: 2, AppVersion: "1", ServiceType: corev1.ServiceTypeClusterIP},
	}
	c := ensuretest.NewClient(scheme, app)
	folder := manifest.NewFolder(dir, templates.Files, scheme)
	r, err := New(operatortest.Manager(c), folder, nil)
	require.NoError(t, err)
	return c, app, operatortest.Pass(c, r, app), folder
}

func TestConverges(t *testing.T) {
	c, app, pass := newPass(t)

	// A finalizer, two children and a status.
	require.Len(t, ensuretest.Converge(t, c, pass), 4)
	require.Empty(t, ensuretest.Converge(t, c, pass))

	services := &corev1.ServiceList{}
	require.NoError(t, c.List(t.Context(), services))
	require.Len(t, services.Items, 1)
	service := &services.Items[0]
	service.Spec.Type = corev1.ServiceTypeNodePort
	require.NoError(t, c.Update(t.Context(), service))

	requests := ensuretest.Converge(t, c, pass)
	require.Len(t, requests, 1)
	require.Equal(t, "apply Service default/"+service.Name+": spec.type", requests[0].String())
	require.Empty(t, ensuretest.Converge(t, c, pass))

	// The operator deletes both children, and then removes the finalizer.
	require.NoError(t, c.Delete(t.Context(), app))
	ensuretest.Converge(t, c, pass)
	require.NoError(t, c.List(t.Context(), services))
	require.Empty(t, services.Items)
	require.NoError(t, client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(app), app)))
	require.Empty(t, ensuretest.Converge(t, c, pass))
}
