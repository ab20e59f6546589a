package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HelloSpec is the desired state of a Hello.
type HelloSpec struct {
	// message is the text that the web server serves.
	// +kubebuilder:validation:MinLength=1
	Message string `json:"message"`

	// replicas is the number of pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
}

// HelloStatus is the observed state of a Hello.
type HelloStatus struct {
	// conditions are Deployed, Listed, and their summary Ready.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Hello runs a web server that serves a message.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.spec.message`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
type Hello struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HelloSpec   `json:"spec"`
	Status HelloStatus `json:"status,omitempty"`
}

// HelloList is a list of Hellos.
// +kubebuilder:object:root=true
type HelloList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Hello `json:"items"`
}
