package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Defaults of fields that are absent or empty.
const (
	DefaultAmountPods int32 = 1
	DefaultTitle            = "World"
)

// ReadyCondition is True once the pods of the current generation are available.
const ReadyCondition = "Ready"

// ApplicationSpec is the desired state of an Application.
type ApplicationSpec struct {
	// version is the version of the application, and the label app.kubernetes.io/version of the
	// pods.
	// +kubebuilder:default="1.0.0"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the value of a label, such as 1.0.0: letters, digits, - _ and ., first and last a letter or a digit"
	// +optional
	Version string `json:"version,omitempty"`

	// amountPods is the number of pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	AmountPods *int32 `json:"amountPods,omitempty"`

	// image is the container image of the microservice, such as
	// registry.example.org:5000/greeter:1.0.
	// +kubebuilder:default="docker.io/nheidloff/simplemicroservice:v1.0.117"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[0-9a-fA-F:]+\\\\]|[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\\\\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*)(:[0-9]+)?/)?[a-z0-9]+((\\\\.|__?|-+|/)[a-z0-9]+)*(:\\\\w[\\\\w.-]{0,127})?(@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$')",message="must be an image, such as quay.io/team/shop:1.0: a repository in lower case letters, and a tag or a digest"
	// +optional
	Image string `json:"image,omitempty"`

	// title is the name in the greeting, "World" if the field is absent or empty.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Title string `json:"title,omitempty"`
}

// ApplicationStatus is the observed state of an Application. Every reconcile computes the status from the
// live objects.
type ApplicationStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions holds Ready: True once the pods of the current generation are
	// available. Otherwise, the reason says why they are not, as far as the cluster knows.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// replicas is the number of ready pods, without the surplus pods of a rollout.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// selector is the label selector of the pods, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`

	// children are the objects of this Application, as of the last reconcile that
	// succeeded.
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Children []Child `json:"children,omitempty"`
}

// Child identifies an object of an Application.
type Child struct {
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object, in the Application's namespace.
	Name string `json:"name"`
	// uid distinguishes the object from earlier objects of the same name.
	UID types.UID `json:"uid"`
}

// Application runs a microservice that greets: a Deployment with a Service, and a Secret with the greeting.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.amountPods,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=applications,shortName=ibmapp
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.spec.amountPods`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name must be a DNS-1035 label, as it begins the name of a Service: lower case letters, digits and hyphens, from a letter to a letter or a digit",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 39",message="the name must have at most 39 characters, as the Deployment's name has 24 more and may have 63",optionalOldSelf=true
type Application struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +kubebuilder:default={}
	// +optional
	Spec ApplicationSpec `json:"spec,omitempty"`
	// status is the observed state.
	// +optional
	Status ApplicationStatus `json:"status,omitempty"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Application `json:"items"`
}
