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

// ErrRefused is the class of errors for errors.Is that are the caller's: an object that
// was never read, a mutate that changes more than the status. Nothing was sent. ensure.Retry
// and ensure.Reason know it.
var ErrRefused = answer.ErrRefused

// Error says which status could not be written, and why. Its text holds kind, namespace, name
// and reason, and the API server's message, if there is one: as one line, cut to 1 KiB, less what
// differs from one try to the next. (About a Secret it names fields and types of causes only.)
// Unwrap gives the StatusError, so that apierrors.IsConflict and its like know this error, too.
type Error struct {
	// Kind of the object; empty if its Go type is in no scheme.
	Kind schema.GroupVersionKind
	// Key is the object's namespace and name.
	Key types.NamespacedName
	// Reason is a condition reason: Refused, the server's own (Conflict, Invalid,
	// Forbidden, …) or Unavailable.
	Reason string
	// Paths are the fields at fault, as far as they are known.
	Paths []string

	detail string
	cause  error
}

// Error is the text described at Error.
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

// Unwrap gives the error behind this one: a StatusError if the server answered,
// ErrRefused if nothing was sent.
func (e *Error) Unwrap() error { return e.cause }

// refuse is an error of the caller's.
func (w *writer) refuse(detail string, paths ...string) error {
	return &Error{Kind: w.kind, Key: w.key, Reason: "Refused", Paths: paths, detail: detail, cause: ErrRefused}
}

// fail is the failure of a request.
func (w *writer) fail(err error) error {
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
// hands on the error of a library for JSON patches.
func isUnpatchable(err error) bool {
	return answer.IsFailedTest(err) || err != nil &&
		(strings.HasPrefix(err.Error(), "testing value /") || strings.Contains(err.Error(), " operation does not apply: "))
}
