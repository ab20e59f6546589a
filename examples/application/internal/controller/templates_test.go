package controller_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/internal/controller"
	"github.com/trueup-go/trueup/examples/application/templates"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
)

// TestFolderGoesAway unmounts the folder from which the children have their names: they keep their names,
// and the Application says what is wrong.
func TestFolderGoesAway(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "greeter"},
		Spec:       v1alpha1.ApplicationSpec{Version: "1.0.0", Image: "greeter:1", AmountPods: new(int32(0))},
	}
	dir := filepath.Join(t.TempDir(), "templates")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "names.tpl"), []byte(`{{define "secret"}}my-{{.Name}}{{end}}
{{define "deployment"}}my-{{.Name}}{{end}}
{{define "service"}}my-{{.Name}}{{end}}
{{define "microservice"}}my-{{.Name}}{{end}}
`), 0o600))
	folder := manifest.NewFolder(dir, templates.Files, scheme)
	c := ensuretest.NewClient(scheme, app)
	waitForSource := operatortest.Follow(t, folder, c, &v1alpha1.ApplicationList{})
	r, err := controller.New(operatortest.Manager(c), folder, nil)
	require.NoError(t, err)
	pass := operatortest.Pass(c, r, app)
	ready := func() metav1.Condition {
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(app), app))
		require.Len(t, app.Status.Conditions, 1)
		return app.Status.Conditions[0]
	}
	ensuretest.Converge(t, c, pass)
	deployment := &appsv1.Deployment{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "my-greeter"}, deployment))
	deployment.Status.ObservedGeneration = deployment.Generation
	require.NoError(t, c.Status().Update(t.Context(), deployment))
	ensuretest.Converge(t, c, pass)
	require.Equal(t, metav1.ConditionTrue, ready().Status)

	require.NoError(t, os.Rename(dir, dir+"-away"))
	waitForSource()
	require.Len(t, ensuretest.Converge(t, c, pass), 1, "the status, and no child")
	require.Equal(t, metav1.ConditionFalse, ready().Status)
	require.Equal(t, "InvalidTemplate", ready().Reason)
	require.Equal(t, "the folder: does not exist; the last manifests that could be read stay in use", ready().Message)

	app.Spec.Version = "1.0.1"
	require.NoError(t, c.Update(t.Context(), app))
	ensuretest.Converge(t, c, pass)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment), "it has its name")
	require.Equal(t, "1.0.1", deployment.Labels["app.kubernetes.io/version"], "the templates stay in use")
	deployments := &appsv1.DeploymentList{}
	require.NoError(t, c.List(t.Context(), deployments))
	require.Len(t, deployments.Items, 1)

	require.NoError(t, os.Rename(dir+"-away", dir))
	waitForSource()
	ensuretest.Converge(t, c, pass)
	require.NotEqual(t, "InvalidTemplate", ready().Reason)
}
