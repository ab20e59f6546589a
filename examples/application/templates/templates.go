// Package templates contains the manifests of an Application's children. Files in the folder of the
// flag --templates override them.
package templates

import "embed"

// Files are secret.yaml, deployment.yaml and service.yaml, with one object each, and names.tpl and
// labels.tpl, which all of them use.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is the data of the templates, such as {{.Name}}. The namespace of a child is always the namespace
// of the Application.
type Data struct {
	// Name, Namespace and Labels are copied from the Application. {{quote (index .Labels "team")}} is the
	// value of a label, or empty if the Application does not have the label.
	Name      string
	Namespace string
	Labels    map[string]string

	// Version, AmountPods and Image are copied from the spec.
	Version    string
	AmountPods int32
	Image      string

	// Title is copied from the spec. The default is World.
	Title string

	// Secret describes the object of secret.yaml. It is nil in secret.yaml itself.
	Secret *Secret
}

// A Secret describes the Secret for the other manifests.
type Secret struct {
	Name string
	// Digest changes with the content of the Secret. Whoever can read the digest can check guesses of the
	// content, so the content must not be easy to guess.
	Digest string
}
