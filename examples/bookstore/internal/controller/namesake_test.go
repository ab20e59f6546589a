package controller //nolint:testpackage // tests unexported functions

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/bookstore/templates"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
)

// namesAfterTeam gives the databases of a team the same name, so that two BookStores may use the same
// database.
const namesAfterTeam = `{{define "database"}}{{index .Labels "team"}}-db{{end}}{{define "app"}}{{.Name}}-app{{end}}`

// TestNamesakeDeletion deletes a BookStore whose database would have the name of another BookStore's
// database. The claims of the other database stay, even while its set is being recreated.
func TestNamesakeDeletion(t *testing.T) {
	for name, isRecreated := range map[string]bool{"the other set exists": false, "the other set is being recreated": true} {
		t.Run(name, func(t *testing.T) {
			first, second := storeOfTeam("first"), storeOfTeam("second")
			c, r := reconcilerWith(t, namesAfterTeam, first, second)
			ensuretest.Converge(t, c, operatortest.Pass(c, r, first))
			claim := claimCalled("mongodb-pvc-blue-db-0")
			claim.Namespace, claim.Labels = first.Namespace, map[string]string{
				"app.kubernetes.io/name": "bookstore", "app.kubernetes.io/instance": "first", "app.kubernetes.io/component": "database",
			}
			require.NoError(t, c.Create(t.Context(), &claim))
			if isRecreated {
				require.NoError(t, c.Delete(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: "blue-db"}}))
			}

			ensuretest.Converge(t, c, operatortest.Pass(c, r, second))
			require.NoError(t, c.Delete(t.Context(), second))
			ensuretest.Converge(t, c, operatortest.Pass(c, r, second))
			require.NoError(t, client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(second), second)))
			require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(&claim), &corev1.PersistentVolumeClaim{}))
		})
	}
}

// storeOfTeam returns a BookStore that does not retain its claims.
func storeOfTeam(name string) *v1alpha1.BookStore {
	store := storeCalled(name)
	store.Labels = map[string]string{"team": "blue"}
	return store
}

// reconcilerWith returns a reconciler of the default templates with other names.
func reconcilerWith(t *testing.T, names string, stores ...client.Object) (*ensuretest.Client, *Reconciler) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	c := ensuretest.NewClient(scheme, stores...)
	mgr := operatortest.Manager(c)
	require.NoError(t, index(t.Context(), mgr.GetFieldIndexer()))
	files := manifest.Overlay(fstest.MapFS{"names.tpl": {Data: []byte(names)}}, templates.Files)
	r, err := New(mgr, Options{Templates: manifest.NewFolder("", files, scheme)})
	require.NoError(t, err)
	return c, r
}
