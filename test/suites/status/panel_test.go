package status_test

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var panelGVK = schema.GroupVersionKind{Group: "status.trueup-go.github.io", Version: "v1", Kind: "Panel"}

// Panel is a custom kind of which this Go type knows a part: the definition has
// status.note, status.place.floor and an owner in each condition as well.
type Panel struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PanelSpec   `json:"spec,omitempty"`
	Status PanelStatus `json:"status,omitempty"`
}

type PanelSpec struct {
	Size int32 `json:"size,omitempty"`
}

type PanelStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Lit                bool               `json:"lit"`
	Place              PanelPlace         `json:"place,omitempty"`
	Shelf              PanelPlace         `json:"shelf,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type PanelPlace struct {
	Room string `json:"room,omitempty"`
}

func (p *Panel) DeepCopyObject() runtime.Object {
	out := *p
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(p.Status.Conditions)
	return &out
}

type PanelList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Panel `json:"items"`
}

func (l *PanelList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Panel, 0, len(l.Items))
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Panel))
	}
	return &out
}

// Lamp is a Panel whose definition enables no status subresource.
type Lamp struct{ Panel }

func (l *Lamp) DeepCopyObject() runtime.Object { return &Lamp{*l.Panel.DeepCopyObject().(*Panel)} }

type props = map[string]apiextensionsv1.JSONSchemaProps

func typed(name string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: name}
}

// conditionSchema is the schema that controller-gen generates for metav1.Condition, and an owner.
func conditionSchema() apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Type:     "object",
		Required: []string{"lastTransitionTime", "message", "reason", "status", "type"},
		Properties: props{
			"lastTransitionTime": {Type: "string", Format: "date-time"},
			"message":            {Type: "string", MaxLength: new(int64(32768))},
			"observedGeneration": {Type: "integer", Format: "int64", Minimum: new(float64(0))},
			"reason": {
				Type: "string", MaxLength: new(int64(1024)), MinLength: new(int64(1)),
				Pattern: `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`,
			},
			"status": {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"True"`)}, {Raw: []byte(`"False"`)}, {Raw: []byte(`"Unknown"`)}}},
			"type": {
				Type: "string", MaxLength: new(int64(316)),
				Pattern: `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
			},
			"owner": typed("string"),
		},
	}
}

func panelDefinition() *apiextensionsv1.CustomResourceDefinition {
	conditions := apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: new(conditionSchema())},
		XListType: new("map"), XListMapKeys: []string{"type"},
	}
	status := apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: new(true),
		Properties: props{
			"observedGeneration": typed("integer"), "lit": typed("boolean"), "note": typed("string"), "conditions": conditions,
			"place": {Type: "object", Properties: props{"room": typed("string"), "floor": typed("integer")}},
		},
	}
	return definition("Panel", "panels", status, &apiextensionsv1.CustomResourceSubresourceStatus{})
}

func lampDefinition() *apiextensionsv1.CustomResourceDefinition {
	return definition("Lamp", "lamps", apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}, nil)
}

func definition(
	kind, plural string, status apiextensionsv1.JSONSchemaProps, subresource *apiextensionsv1.CustomResourceSubresourceStatus,
) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + panelGVK.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: panelGVK.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: panelGVK.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: subresource},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: props{"spec": {Type: "object", Properties: props{"size": typed("integer")}}, "status": status},
				}},
			}},
		},
	}
}
