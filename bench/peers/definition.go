package main

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

// databaseDefinition returns a custom kind with a status, defaults, and a list with keys.
func databaseDefinition() *apiextensionsv1.CustomResourceDefinition {
	type props = map[string]apiextensionsv1.JSONSchemaProps
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	withDefault := func(value string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(value)}}
	}
	user := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"name"}, Properties: props{"name": text, "role": withDefault(`"reader"`)},
	}
	users := apiextensionsv1.JSONSchemaProps{
		Type: "array", XListType: new("map"), XListMapKeys: []string{"name"},
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &user},
	}
	content := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props{
		"spec": {Type: "object", Properties: props{
			"version": text, "storage": withDefault(`"10Gi"`), "backup": text, "users": users,
		}},
		"status": {Type: "object", Properties: props{"checked": {Type: "integer"}}},
	}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "databases." + contest.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: contest.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "databases", Singular: "database", Kind: "Database", ListKind: "DatabaseList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &content},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
