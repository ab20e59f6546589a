package controller //nolint:testpackage // tests unexported functions

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
)

// TestFolderGoesAway unmounts the folder from which the app has its name: the app keeps its name, and only
// Ready says what is wrong.
func TestFolderGoesAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "templates")
	require.NoError(t, os.Mkdir(dir, 0o755))
	names := `{{define "database"}}{{.Name}}-mongodb{{end}}{{define "app"}}my-{{.Name}}{{end}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "names.tpl"), []byte(names), 0o600))
	c, store, pass, folder := newPass(t, dir)
	waitForSource := operatortest.Follow(t, folder, c, &v1alpha1.BookStoreList{})
	condition := func(conditionType string) *metav1.Condition {
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(store), store))
		return meta.FindStatusCondition(store.Status.Conditions, conditionType)
	}
	ensuretest.Converge(t, c, pass)
	ready, app := condition(v1alpha1.ReadyCondition), condition(v1alpha1.AppReadyCondition)

	require.NoError(t, os.Rename(dir, dir+"-away"))
	waitForSource()
	require.Len(t, ensuretest.Converge(t, c, pass), 1, "the status, and no child")
	require.Equal(t, "InvalidTemplate", condition(v1alpha1.ReadyCondition).Reason)
	require.Equal(t, metav1.ConditionFalse, condition(v1alpha1.ReadyCondition).Status)
	require.Equal(t, app, condition(v1alpha1.AppReadyCondition))
	deployments := &appsv1.DeploymentList{}
	require.NoError(t, c.List(t.Context(), deployments))
	require.Len(t, deployments.Items, 1)
	require.Equal(t, "my-books", deployments.Items[0].Name)

	require.NoError(t, os.Rename(dir+"-away", dir))
	waitForSource()
	require.Len(t, ensuretest.Converge(t, c, pass), 1)
	require.Equal(t, ready.Reason, condition(v1alpha1.ReadyCondition).Reason)
}
