package explain_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// defineBoilers defines a custom kind with a status, a default and a short name.
var defineBoilers = sync.OnceValue(func() error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(shared.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	part := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"fuel": text, "phase": text, "error": text,
		"burner": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"power": text, "mode": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"eco"`)}},
		}},
		"tags": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}},
	}}
	return cluster.Define(context.Background(), c, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "boilers.heating.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "heating.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "boilers", Singular: "boiler", Kind: "Boiler", ListKind: "BoilerList", ShortNames: []string{"bo"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": part, "status": part},
				}},
			}},
		},
	})
})

// Two programs write the status of a custom resource.
func TestCustomResource(t *testing.T) {
	t.Parallel()
	require.NoError(t, defineBoilers())
	namespace := shared.Namespace(t)
	boiler := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "heating.example.com/v1", "kind": "Boiler",
		"metadata": map[string]any{"namespace": namespace, "name": "cellar"}, "spec": map[string]any{"fuel": "gas"},
	}}
	require.NoError(t, clientOf(t, "user").Create(t.Context(), boiler))
	for program, field := range map[string]string{"boiler-operator": "phase", "watchdog": "error"} {
		body := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"`+field+`":"good"}}`))
		require.NoError(t, clientOf(t, program).Status().Patch(t.Context(), boiler, body))
	}

	report := explain(t, namespace, "bo/cellar")

	requireParts(t, report, namespace, "Boiler NAMESPACE/cellar (heating.example.com/v1), created AGE\n",
		"boiler-operator Update/status, AGE, 1 field\n    status.phase  \"good\"\n",
		"watchdog Update/status, AGE, 1 field\n    status.error  \"good\"\n", "user Update, AGE, 1 field\n    spec.fuel  \"gas\"\n")
}

func TestClusterScopedObject(t *testing.T) {
	t.Parallel()
	report := explain(t, "default", "clusterrole/view")
	requireParts(t, report, "default", "ClusterRole view (rbac.authorization.k8s.io/v1), created AGE\n",
		"clusterrole-aggregation-controller Apply, AGE, 1 field\n    rules  ")
}
