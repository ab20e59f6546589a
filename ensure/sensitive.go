package ensure

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/internal/answer"
)

// WithSensitive names kinds whose values must not be shown, in addition to Secret. The API server's
// message can quote the object, so for these kinds the text of an Error, and of an event, has only the
// fields and the types of the causes, and a Change has no values; list items and map keys are left
// out of paths. For all other kinds the message is
// shown: whoever may read the condition, the event or the log may read the child.
//
//	ensure.WithSensitive(schema.GroupKind{Group: "vault.example.com", Kind: "Credentials"})
//
// The setting covers all versions of a kind, and may be given several times.
func WithSensitive(kinds ...schema.GroupKind) Setting {
	kinds = slices.Clone(kinds)
	return func(e *Ensurer) { e.sensitive = append(e.sensitive, kinds...) }
}

// isSensitive reports whether the API server's messages about a kind are not to be shown.
func (e *Ensurer) isSensitive(kind schema.GroupKind) bool {
	return answer.IsSensitive(kind) || slices.Contains(e.sensitive, kind)
}
