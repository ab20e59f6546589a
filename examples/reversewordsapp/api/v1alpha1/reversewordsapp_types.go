package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finalizer delays the deletion of a ReverseWordsApp until the Service and the Deployment are gone. A
// finalizer should have a name with a slash, but existing objects have this name.
const Finalizer = "finalizer.reversewordsapp.apps.linuxera.org"

// The types of conditions, in the order in which they are written.
const (
	// DeploymentNotReadyCondition is False once the pods of the current generation are
	// available.
	DeploymentNotReadyCondition = "ReverseWordsDeploymentNotReady"
	// ReadyCondition is True once the pods are available and the Service is ready.
	ReadyCondition = "Ready"
)

// ReverseWordsAppSpec is the desired state of a ReverseWordsApp.
type ReverseWordsAppSpec struct {
	// replicas is the number of pods. 0 means 1, also for kubectl scale: a ReverseWordsApp never runs
	// without pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// appVersion is the tag of the image quay.io/mavazque/reversewords.
	// +kubebuilder:default=latest
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^\\\\w[\\\\w.-]*$')",message="must be a tag of the image, such as 0.0.19: letters, digits, . _ and -, and first a letter, a digit or _"
	// +optional
	AppVersion string `json:"appVersion,omitempty"`

	// serviceType is the type of the Service. Use ClusterIP or NodePort in clusters
	// without load balancers.
	// +kubebuilder:default=LoadBalancer
	// +kubebuilder:validation:Enum=LoadBalancer;NodePort;ClusterIP
	// +optional
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`
}

// ReverseWordsAppStatus is the observed state of a ReverseWordsApp. Every reconcile computes the status
// from the live objects.
type ReverseWordsAppStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of pods that are ready. The surplus pods of a rollout do not count.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// selector selects the pods of the Deployment, as text, for the subresource scale.
	// +optional
	Selector string `json:"selector,omitempty"`

	// conditions holds ReverseWordsDeploymentNotReady and Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// appPods are the names of the Deployment's pods that are pending or running. The
	// list is empty without such pods, and absent before the first reconcile.
	// +listType=set
	// +optional
	AppPods []string `json:"appPods,omitzero"`

	// children are the existing objects of this ReverseWordsApp.
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Children []Child `json:"children,omitempty"`
}

// Child identifies an object of a ReverseWordsApp.
type Child struct {
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object, in the ReverseWordsApp's namespace.
	Name string `json:"name"`
	// uid distinguishes the object from earlier objects of the same name.
	UID types.UID `json:"uid"`
}

// ReverseWordsApp runs a web service that reverses words: a Deployment with a Service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=reversewordsapps,shortName=rwa
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 55 && !self.metadata.name.contains('.')",message="the name must have at most 55 characters and no dot, as it is part of the Service's name",optionalOldSelf=true
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.appVersion`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ReverseWordsApp struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +kubebuilder:default={}
	// +optional
	Spec ReverseWordsAppSpec `json:"spec,omitempty"`
	// status is the observed state.
	// +optional
	Status ReverseWordsAppStatus `json:"status,omitempty"`
}

// ReverseWordsAppList is a list of ReverseWordsApps.
//
// +kubebuilder:object:root=true
type ReverseWordsAppList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReverseWordsApp `json:"items"`
}
