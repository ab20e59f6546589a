package scale

import (
	"context"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

type props = map[string]apiextensionsv1.JSONSchemaProps

// installKinds makes the server know Stacks and Widgets.
func installKinds(ctx context.Context, c client.Client) error {
	return cluster.Define(ctx, c,
		define("Stack", props{"parts": typed("integer", "")}),
		define("Widget", props{
			"size": typed("integer", ""), "mode": typed("string", `"auto"`),
			"ports": keyedByName(props{"name": typed("string", ""), "number": typed("integer", "80")}),
		}),
	)
}

func define(kind string, spec props) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + groupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: groupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: groupVersion.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: new(object(props{"spec": object(spec)}))},
			}},
		},
	}
}

// typed is a field of a type, with a default unless that is empty.
func typed(name, defaulted string) apiextensionsv1.JSONSchemaProps {
	schema := apiextensionsv1.JSONSchemaProps{Type: name}
	if defaulted != "" {
		schema.Default = &apiextensionsv1.JSON{Raw: []byte(defaulted)}
	}
	return schema
}

func object(properties props) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
}

func keyedByName(item props) apiextensionsv1.JSONSchemaProps {
	schema := object(item)
	schema.Required = []string{"name"}
	return apiextensionsv1.JSONSchemaProps{
		Type: "array", XListType: new("map"), XListMapKeys: []string{"name"},
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema},
	}
}
