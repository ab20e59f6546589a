package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SiteSpec is the desired state of a Site.
type SiteSpec struct {
	// title of the page.
	// +optional
	Title string `json:"title,omitempty"`

	// appVersion is the version of the app that reverses words. The default is that of the ReverseWordsApp.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^\\\\w[\\\\w.-]*$')",message="must be a tag of the image, such as 0.0.19: letters, digits, . _ and -, and first a letter, a digit or _"
	// +optional
	AppVersion string `json:"appVersion,omitempty"`

	// plain means that the Site is only a page: no app reverses words.
	// +optional
	Plain bool `json:"plain,omitempty"`
}

// SiteStatus is the observed state of a Site.
type SiteStatus struct {
	// conditions holds Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Site is a page with an app that reverses words. The name of a Site is also the name of the app, so the
// same rule applies.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 55 && !self.metadata.name.contains('.')",message="the name must have at most 55 characters and no dot, as it is part of the name of the app's Service",optionalOldSelf=true
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Site struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec SiteSpec `json:"spec,omitempty"`
	// status is the observed state.
	// +optional
	Status SiteStatus `json:"status,omitempty"`
}

// SiteList is a list of Sites.
// +kubebuilder:object:root=true
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}
