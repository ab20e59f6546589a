package secrecy_test

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var vaultGVK = schema.GroupVersionKind{Group: "secrecy.trueup-go.github.io", Version: "v1", Kind: "Vault"}

// A Vault is the custom object that owns the secrets.
type Vault struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status VaultStatus `json:"status,omitempty"`
}

// VaultStatus has the conditions.
type VaultStatus struct {
	// Phase is Open or Closed.
	Phase      string             `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (v *Vault) DeepCopyObject() runtime.Object {
	out := *v
	v.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(v.Status.Conditions)
	return &out
}

func addVaults(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(vaultGVK.GroupVersion(), &Vault{})
	metav1.AddToGroupVersion(scheme, vaultGVK.GroupVersion())
	return apiextensionsv1.AddToScheme(scheme)
}

var safeGVK = schema.GroupVersionKind{Group: vaultGVK.Group, Version: "v1", Kind: "Safe"}

func vaultCRD() *apiextensionsv1.CustomResourceDefinition {
	status := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"phase": oneOf("Open", "Closed"),
		"conditions": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{
			Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
		}},
	}}
	return define("vault", vaultGVK, map[string]apiextensionsv1.JSONSchemaProps{"status": status})
}

func safeCRD() *apiextensionsv1.CustomResourceDefinition {
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"lock": oneOf("Old", "New"), "code": {Type: "string"}, "pin": {Type: "integer"},
	}}
	return define("safe", safeGVK, map[string]apiextensionsv1.JSONSchemaProps{"spec": spec})
}

func oneOf(a, b string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"` + a + `"`)}, {Raw: []byte(`"` + b + `"`)}}}
}

func define(
	name string, kind schema.GroupVersionKind, properties map[string]apiextensionsv1.JSONSchemaProps,
) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name + "s." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: name + "s", Singular: name, Kind: kind.Kind, ListKind: kind.Kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: properties,
				}},
			}},
		},
	}
}
