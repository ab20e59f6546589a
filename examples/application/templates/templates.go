// Package templates holds the manifests that an Application's children are made from. The
// flag --templates has files of the same names take their place, without a build.
package templates

import "embed"

// Files are secret.yaml, deployment.yaml and service.yaml, of one object each, and
// names.tpl, which they share.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is the data of the templates, such as {{.Name}}. Templates get no other data, and their
// namespace is always that of the Application.
type Data struct {
	// Name, Namespace and Labels are those of the Application. {{quote (index .Labels "team")}} is one of
	// the labels, empty if the Application does not have the label.
	Name      string
	Namespace string
	Labels    map[string]string

	// Version, AmountPods and Image are those of the spec.
	Version    string
	AmountPods int32
	Image      string

	// Title is the spec's, or World.
	Title string

	// Secret is the object of secret.yaml, nil in that file itself.
	Secret *Secret
}

// A Secret describes the Secret for manifests that use it.
type Secret struct {
	Name string
	// Digest changes with the content of the Secret. People who can read the object in which the digest
	// is written can test guesses of the content, so the content must not be easy to guess.
	Digest string
}
