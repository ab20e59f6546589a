// Package v1alpha1 contains version v1alpha1 of the API group apps.linuxera.org.
//
// +kubebuilder:object:generate=true
// +groupName=apps.linuxera.org
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "apps.linuxera.org", Version: "v1alpha1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ReverseWordsApp{}, &ReverseWordsAppList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
