// Package adoption_test tests on a real API server that package ensure adopts objects of other
// programs and gives them up again without losing their content.
package adoption_test

import (
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// limit is how long a test waits for anything.
const limit = time.Minute

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared))
}

// define defines a custom kind that needs a spec with a fuel.
func define(t *testing.T, kind, name string) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	require.NoError(t, err)
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	require.NoError(t, cluster.Define(t.Context(), c, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name + "s.heating.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "heating.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: name + "s", Singular: name, Kind: kind, ListKind: kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Required: []string{"spec"},
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {
						Type: "object", Required: []string{"fuel"},
						Properties: map[string]apiextensionsv1.JSONSchemaProps{"fuel": text, "colour": text},
					}},
				}},
			}},
		},
	}))
}
