package status

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/internal/answer"
)

// ErrRefused is the class, for errors.Is, of errors that the caller has to fix: the object
// was never read, or mutate changed more than the status. Nothing was written. ensure.Retry
// and ensure.Reason recognize this class.
var ErrRefused = answer.ErrRefused

// Error reports which status could not be written, and why. Its text has the kind, the
// namespace and the name of the object, the reason, and the message of the API server, if
// there is one. The message is reduced to one line of at most 1 KiB, without the parts that
// differ between attempts. (For a Secret the text has the fields and types of the causes
// only.) Unwrap returns the StatusError, so functions such as apierrors.IsConflict accept an
// Error.
type Error struct {
	// Kind is the object's kind; empty if the scheme does not have its Go type.
	Kind schema.GroupVersionKind
	// Key is the object's namespace and name.
	Key types.NamespacedName
	// Reason can be used in a condition: Refused, the server's reason (Conflict, Invalid,
	// Forbidden, ...) or Unavailable.
	Reason string
	// Paths are the fields that caused the error, if they are known.
	Paths []string

	detail string
	cause  error
}

// Error returns the text that is described at the type Error.
func (e *Error) Error() string {
	kind := e.Kind.Kind
	if kind == "" {
		kind = "object"
	}
	name := e.Key.Name
	if e.Key.Namespace != "" {
		name = e.Key.String()
	}
	text := fmt.Sprintf("cannot write the status of %s %q: %s", kind, name, e.Reason)
	if e.detail != "" {
		text += ": " + e.detail
	}
	return text
}

// Unwrap returns the cause: a StatusError if the server responded, ErrRefused if the caller
// has to fix the call.
func (e *Error) Unwrap() error { return e.cause }

// refusal returns the error of a call that the caller has to fix.
func (w *writer) refusal(detail string, paths ...string) error {
	return &Error{Kind: w.kind, Key: w.key, Reason: "Refused", Paths: paths, detail: detail, cause: ErrRefused}
}

// failure returns the error of a failed request.
func (w *writer) failure(err error) error {
	out := &Error{Kind: w.kind, Key: w.key, Reason: answer.Reason(err, "Unavailable"), cause: err}
	switch {
	case apierrors.IsConflict(err) && !answer.IsWebhook(err):
		out.Reason, out.detail = string(metav1.StatusReasonConflict), "the object was changed since it was read"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		out.Paths = answer.Fields(err)
	case answer.IsGone(err):
		out.detail = "the status subresource of this kind is not enabled"
	}
	if out.detail == "" {
		out.detail = answer.Explain(err, w.kind.GroupKind(), w.key.Name)
	}
	return out
}

// isUnpatchable reports whether the patch could not be applied to the object. The fake client
// returns the error of its JSON patch library.
func isUnpatchable(err error) bool {
	return answer.IsFailedTest(err) || err != nil &&
		(strings.HasPrefix(err.Error(), "testing value /") || strings.Contains(err.Error(), " operation does not apply: "))
}
