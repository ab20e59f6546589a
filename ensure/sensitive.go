package ensure

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/internal/answer"
)

// WithSensitive names kinds beside Secret whose values must not show. The API server's message,
// which can quote the object, is no part of the text of an Error about a child of such a kind,
// nor of its events; fields and types of causes are. Changes have no values. For all other kinds it is: who may
// read the condition, the event or the log that an error is told in may read the child.
//
//	ensure.WithSensitive(schema.GroupKind{Group: "vault.example.com", Kind: "Credentials"})
//
// It counts for all versions of a kind, and several settings add up.
func WithSensitive(kinds ...schema.GroupKind) Setting {
	kinds = slices.Clone(kinds)
	return func(e *Ensurer) { e.sensitive = append(e.sensitive, kinds...) }
}

// isSensitive reports whether the API server's messages about a kind are not to be shown.
func (e *Ensurer) isSensitive(kind schema.GroupKind) bool {
	return answer.IsSensitive(kind) || slices.Contains(e.sensitive, kind)
}

// message is what the API server says about the child, or otherwise if that is not to be shown.
func (c *child) message(err error, otherwise string) string {
	if c.isSensitive(c.gvk.GroupKind()) {
		return otherwise
	}
	return cmp.Or(answer.Message(err, c.key.Name), otherwise)
}
