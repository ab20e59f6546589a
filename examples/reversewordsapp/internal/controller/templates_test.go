package controller //nolint:testpackage // tests unexported functions

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
)

// TestFolderGoesAway unmounts the folder from which the children have their names: they keep their names,
// and only Ready says what is wrong.
func TestFolderGoesAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "templates")
	require.NoError(t, os.Mkdir(dir, 0o755))
	names := `{{define "deployment"}}my-{{.Name}}{{end}}{{define "service"}}my-{{.Name}}{{end}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "names.tpl"), []byte(names), 0o600))
	c, app, pass, folder := newPassWith(t, dir)
	waitForSource := operatortest.Follow(t, folder, c, &v1alpha1.ReverseWordsAppList{})
	ensuretest.Converge(t, c, pass)
	require.Equal(t, []string{"True Progressing", "False Progressing"}, conditionsOf(reread(t, c, app)))

	require.NoError(t, os.Rename(dir, dir+"-away"))
	waitForSource()
	require.Len(t, ensuretest.Converge(t, c, pass), 1, "the status, and no child")
	require.Equal(t, []string{"True Progressing", "False InvalidTemplate"}, conditionsOf(reread(t, c, app)))
	deployments := &appsv1.DeploymentList{}
	require.NoError(t, c.List(t.Context(), deployments))
	require.Len(t, deployments.Items, 1)
	require.Equal(t, "my-words", deployments.Items[0].Name)

	require.NoError(t, os.Rename(dir+"-away", dir))
	waitForSource()
	require.Len(t, ensuretest.Converge(t, c, pass), 1)
	require.Equal(t, []string{"True Progressing", "False Progressing"}, conditionsOf(reread(t, c, app)))
}
