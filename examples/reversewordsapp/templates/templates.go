// Package templates holds the manifests that a ReverseWordsApp's children are made from. The
// flag --templates has files of the same names take their place, without a build.
package templates

import (
	"embed"

	corev1 "k8s.io/api/core/v1"
)

// Files are deployment.yaml and service.yaml, of one object each, and what they share:
// names.tpl.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is what the templates are given, as {{.Name}} for example. They get nothing else,
// and their namespace is always the ReverseWordsApp's.
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
