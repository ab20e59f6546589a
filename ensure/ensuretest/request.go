package ensuretest

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// The verbs that the code itself tells apart.
const (
	verbGet   = "get"
	verbList  = "list"
	verbApply = "apply"
)

// A Request is a request to the API server, real or fake.
type Request struct {
	// Verb is get or list for a read, and create, update, patch, apply, delete or
	// deletecollection for a write.
	Verb string
	// Kind is the kind of the object, or of the list.
	Kind schema.GroupVersionKind
	// Key is the namespace and name of the object; for a list and a deletecollection, only the namespace.
	Key client.ObjectKey
	// Subresource is empty for the object itself, or status, scale and the like.
	Subresource string
	// DryRun reports whether the request was a dry run.
	DryRun bool
	// Changes are the changes that a write made to an existing object, in its specified fields and its
	// status. Old and new values are shown for numbers and booleans only.
	Changes []ensure.Change
	// Err is the error of the response, or nil.
	Err error

	outcome string
}

// IsWrite reports whether the request is a write. A dry run is not.
func (r Request) IsWrite() bool {
	return r.Verb != verbGet && r.Verb != verbList && !r.DryRun
}

// String returns the request on one line, such as
//
//	apply Deployment default/web: spec.replicas 5 -> 2
//
// The line has no values except numbers and booleans, and no text of an error, which may quote the
// object.
func (r Request) String() string {
	var line strings.Builder
	line.WriteString(r.Verb)
	if r.Subresource != "" {
		line.WriteString(" " + r.Subresource + " of")
	}
	line.WriteString(" " + r.Kind.Kind)
	switch {
	case r.Key.Name == "" && r.Key.Namespace != "":
		line.WriteString(" in " + r.Key.Namespace)
	case r.Key.Namespace == "" && r.Key.Name != "":
		line.WriteString(" " + r.Key.Name)
	case r.Key.Name != "":
		line.WriteString(" " + r.Key.String())
	}
	if r.DryRun {
		line.WriteString(" (dry run)")
	}
	if did := r.did(); did != "" {
		line.WriteString(": " + did)
	}
	return line.String()
}

// did returns the outcome of the request.
func (r Request) did() string {
	if r.Err != nil {
		return "failed: " + ensure.Reason(r.Err)
	}
	if len(r.Changes) == 0 {
		return r.outcome
	}
	paths := make([]string, len(r.Changes))
	for i, change := range r.Changes {
		paths[i] = change.String()
	}
	return strings.Join(paths, ", ")
}
