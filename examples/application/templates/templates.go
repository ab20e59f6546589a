// Package templates holds the manifests that an Application's children are made from. The
// flag --templates has files of the same names take their place, without a build.
package templates

import "embed"

// Files are secret.yaml, deployment.yaml and service.yaml, of one object each, and
// names.tpl, which they share.
//
//go:embed *.yaml *.tpl
var Files embed.FS

// Data is what the templates are given, as {{.Name}} for example. They get nothing else,
// and their namespace is always the Application's.
type Data struct {
	// Name, Namespace and Labels are the Application's. One of the labels is
	// {{quote (index .Labels "team")}}, empty if it is not there.
	Name      string
	Namespace string
	Labels    map[string]string

	// Version, AmountPods and Image are those of the spec.
	Version    string
	AmountPods int32
	Image      string

	// Title is the spec's, or World.
	Title string

	// Secret is what secret.yaml made; that file itself has none.
	Secret *Secret
}

// Secret is for those that read it.
type Secret struct {
	Name string
	// Digest is another when what the Secret holds is another. It is no secret to those who
	// can read what it is written into, and so must not be of one that can be guessed.
	Digest string
}
