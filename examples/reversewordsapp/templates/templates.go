// Package templates holds the manifests that a ReverseWordsApp's children are made from. The
// flag --templates has files of the same names take their place, without a build.
package templates

import (
	"embed"

	corev1 "k8s.io/api/core/v1"
)

// Files are deployment.yaml and service.yaml, with one object each, and names.tpl, which both use.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is the data of the templates, such as {{.Name}}. Templates get no other data, and their
// namespace is always that of the ReverseWordsApp.
type Data struct {
	// Name, Namespace and Labels are the ReverseWordsApp's. One of the labels, which may not
	// be there, is {{index .Labels "team" | quote}}.
	Name      string
	Namespace string
	Labels    map[string]string

	// Replicas is the spec's, or 1 if that is 0.
	Replicas int32

	// AppVersion and ServiceType are those of the spec.
	AppVersion  string
	ServiceType corev1.ServiceType
}
