package conformance_test

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var gadgetGVK = schema.GroupVersionKind{Group: "conformance.trueup-go.github.io", Version: "v1", Kind: "Gadget"}

// A Gadget is a custom object with the usual features of custom kinds: defaults at several depths,
// a list with keys, an atomic list, optional structs, quantities and durations.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GadgetSpec   `json:"spec"`
	Status GadgetStatus `json:"status,omitempty"`
}

type GadgetSpec struct {
	Size     int32             `json:"size,omitempty"`
	Mode     string            `json:"mode,omitempty"` // defaulted
	Ratio    float64           `json:"ratio,omitempty"`
	Storage  resource.Quantity `json:"storage,omitempty"`
	Timeout  *metav1.Duration  `json:"timeout,omitempty"`
	Parts    []GadgetPart      `json:"parts,omitempty"` // a map list by name
	Args     []string          `json:"args,omitempty"`  // atomic
	Database GadgetDatabase    `json:"db,omitempty"`    // defaulted inside
}

type GadgetPart struct {
	Name  string `json:"name"`
	Count int32  `json:"count,omitempty"` // defaulted
	Color string `json:"color,omitempty"`
}

type GadgetDatabase struct {
	Port int32 `json:"port,omitempty"`
}

type GadgetStatus struct {
	Phase string `json:"phase,omitempty"`
}

func (g *Gadget) DeepCopyObject() runtime.Object {
	var out Gadget
	roundTrip(g, &out)
	return &out
}

type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Gadget `json:"items"`
}

func (l *GadgetList) DeepCopyObject() runtime.Object {
	var out GadgetList
	roundTrip(l, &out)
	return &out
}

func roundTrip(in, out any) {
	data, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		panic(err)
	}
}

func addGadgets(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(gadgetGVK.GroupVersion(), &Gadget{}, &GadgetList{})
	metav1.AddToGroupVersion(scheme, gadgetGVK.GroupVersion())
	return apiextensionsv1.AddToScheme(scheme)
}

type props = map[string]apiextensionsv1.JSONSchemaProps

func typed(name string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: name}
}

func defaulted(name, value string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: name, Default: &apiextensionsv1.JSON{Raw: []byte(value)}}
}

func gadgetCRD() *apiextensionsv1.CustomResourceDefinition {
	part := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"name"},
		Properties: props{"name": typed("string"), "count": defaulted("integer", "1"), "color": typed("string")},
	}
	database := apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: props{"port": defaulted("integer", "5432")},
	}
	parts := apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &part},
		XListType: new("map"), XListMapKeys: []string{"name"},
	}
	args := apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: new(typed("string"))},
	}
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props{
		"size": typed("integer"), "mode": defaulted("string", `"auto"`), "ratio": typed("number"),
		"storage": {XIntOrString: true, AnyOf: []apiextensionsv1.JSONSchemaProps{typed("integer"), typed("string")}},
		"timeout": typed("string"), "parts": parts, "args": args, "db": database,
	}}
	status := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props{"phase": typed("string")}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + gadgetGVK.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gadgetGVK.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gadgetGVK.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Required: []string{"spec"}, Properties: props{"spec": spec, "status": status},
				}},
			}},
		},
	}
}
