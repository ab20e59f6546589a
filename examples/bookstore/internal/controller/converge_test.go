package controller //nolint:testpackage // tests unexported functions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/bookstore/templates"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
)

// newPass returns a fake client with a BookStore, a function that reconciles it, and the templates in dir.
func newPass(t *testing.T, dir string) (*ensuretest.Client, *v1alpha1.BookStore, func(context.Context) error, *manifest.Folder) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	store := &v1alpha1.BookStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "books"},
		Spec: v1alpha1.BookStoreSpec{
			BookApp: v1alpha1.BookApp{
				Repository: "pyapp", Tag: "1", Replicas: 1, Port: 80, TargetPort: 3000, ServiceType: corev1.ServiceTypeClusterIP,
			},
			BookDB: v1alpha1.BookDB{Repository: "mongo", Tag: "8", Replicas: 1, Port: 27017, DBSize: resource.MustParse("2Gi")},
		},
	}
	c := ensuretest.NewClient(scheme, store)
	mgr := operatortest.Manager(c)
	require.NoError(t, index(t.Context(), mgr.GetFieldIndexer()))
	folder := manifest.NewFolder(dir, templates.Files, scheme)
	r, err := New(mgr, Options{Templates: folder})
	require.NoError(t, err)
	return c, store, operatortest.Pass(c, r, store), folder
}

func TestConverges(t *testing.T) {
	c, _, pass, _ := newPass(t, "")

	// A finalizer, five children and a status.
	require.Len(t, ensuretest.Converge(t, c, pass), 7)
	require.Empty(t, ensuretest.Converge(t, c, pass))

	deployments := &appsv1.DeploymentList{}
	require.NoError(t, c.List(t.Context(), deployments))
	require.Len(t, deployments.Items, 1)
	app := &deployments.Items[0]
	app.Spec.Replicas = new(int32(7))
	require.NoError(t, c.Update(t.Context(), app))

	requests := ensuretest.Converge(t, c, pass)
	require.Len(t, requests, 1)
	require.Equal(t, "apply Deployment default/"+app.Name+": spec.replicas 7 -> 1", requests[0].String())
	require.Empty(t, ensuretest.Converge(t, c, pass))
}
