package scale

import (
	"errors"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

var groupVersion = schema.GroupVersion{Group: "soak.trueup-go.github.io", Version: "v1"}

// A Stack owns children.
type Stack struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec StackSpec `json:"spec"`
}

// StackSpec lists the parts of a Stack.
type StackSpec struct {
	// Parts is the number of children, each of a different kind.
	Parts int `json:"parts"`
}

// DeepCopyObject implements runtime.Object.
func (s *Stack) DeepCopyObject() runtime.Object {
	return &Stack{TypeMeta: s.TypeMeta, ObjectMeta: *s.DeepCopy(), Spec: s.Spec}
}

// StackList is a list of Stacks.
type StackList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Stack `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *StackList) DeepCopyObject() runtime.Object {
	out := &StackList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: slices.Clone(l.Items)}
	for i := range out.Items {
		out.Items[i].ObjectMeta = *l.Items[i].ObjectMeta.DeepCopy()
	}
	return out
}

// A Widget is a child of a custom kind: with a list that has keys, and with fields
// that the server defaults.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WidgetSpec `json:"spec"`
}

// WidgetSpec specifies a Widget.
type WidgetSpec struct {
	Size  int          `json:"size"`
	Mode  string       `json:"mode,omitempty"` // defaulted
	Ports []WidgetPort `json:"ports,omitempty"`
}

// WidgetPort is an item of a list with the key name.
type WidgetPort struct {
	Name   string `json:"name"`
	Number int    `json:"number,omitempty"` // defaulted
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	out := &Widget{TypeMeta: w.TypeMeta, ObjectMeta: *w.DeepCopy(), Spec: w.Spec}
	out.Spec.Ports = slices.Clone(w.Spec.Ports)
	return out
}

// WidgetList is a list of Widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Widget `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	out := &WidgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: slices.Clone(l.Items)}
	for i := range out.Items {
		out.Items[i].ObjectMeta = *l.Items[i].ObjectMeta.DeepCopy()
		out.Items[i].Spec.Ports = slices.Clone(l.Items[i].Spec.Ports)
	}
	return out
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Stack{}, &StackList{}, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
}
