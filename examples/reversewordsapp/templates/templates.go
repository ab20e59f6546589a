// Package templates contains the manifests of a ReverseWordsApp's children. Files in the folder of the
// flag --templates override them.
package templates

import (
	"embed"

	corev1 "k8s.io/api/core/v1"
)

// Files are deployment.yaml and service.yaml, with one object each, and names.tpl and labels.tpl, which
// both use.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is the data of the templates, such as {{.Name}}. The namespace of a child is always the namespace
// of the ReverseWordsApp.
type Data struct {
	// Name, Namespace and Labels are copied from the ReverseWordsApp. {{quote (index .Labels "team")}} is
	// the value of a label, or empty if the ReverseWordsApp does not have the label.
	Name      string
	Namespace string
	Labels    map[string]string

	// Replicas is copied from the spec, with 1 instead of 0.
	Replicas int32

	// AppVersion and ServiceType are copied from the spec.
	AppVersion  string
	ServiceType corev1.ServiceType
}
