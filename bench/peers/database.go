package main

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const group = "bench.trueup-go.github.io"

var databaseKind = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Database"}

func database() child {
	spec := func(object client.Object) map[string]any {
		content, _ := object.(*unstructured.Unstructured).Object["spec"].(map[string]any)
		return content
	}
	return child{
		kind: databaseKind,
		empty: func() client.Object {
			empty := &unstructured.Unstructured{}
			empty.SetGroupVersionKind(databaseKind)
			return empty
		},
		emptyList: func() client.ObjectList {
			empty := &unstructured.UnstructuredList{}
			empty.SetGroupVersionKind(databaseKind.GroupVersion().WithKind("DatabaseList"))
			return empty
		},
		desired:       desiredDatabase,
		assignContent: func(live, desired client.Object) { live.(*unstructured.Unstructured).Object["spec"] = spec(desired) },
		addDefaults: func(desired client.Object) {
			spec(desired)["storage"] = "10Gi"
			spec(desired)["users"].([]any)[0].(map[string]any)["role"] = "reader"
		},
		heartbeat: `{"status":{"checked":%d}}`,
		drift:     `{"spec":{"version":"edited"}}`,
		addition:  `{"spec":{"backup":"daily"}}`,
		hasDrift:  func(live client.Object) bool { return spec(live)["version"] == "edited" },
		hasAddition: func(live client.Object) bool {
			_, found := spec(live)["backup"]
			return found
		},
	}
}

func desiredDatabase(owner client.Object, revision int) client.Object {
	desired := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"version": fmt.Sprintf("17.%d", revision), "users": []any{map[string]any{"name": "shop"}},
	}}}
	desired.SetGroupVersionKind(databaseKind)
	of := metadata(owner)
	desired.SetNamespace(of.Namespace)
	desired.SetName(of.Name)
	desired.SetLabels(of.Labels)
	return desired
}

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
		ObjectMeta: metav1.ObjectMeta{Name: "databases." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
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
