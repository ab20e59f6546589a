package status

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ErrRefused is the class of errors for errors.Is that are the caller's: an object that
// was never read, a mutate that changes more than the status. Nothing was sent.
var ErrRefused = errors.New("refused")

// Error says which status could not be written, and why. Its text holds kind,
// namespace, name, reason, fields and cause types, and never the API server's message,
// which may quote the whole object. That message is in the StatusError that Unwrap
// gives, so that apierrors.IsConflict and its like know this error, too.
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
	out := &Error{Kind: w.kind, Key: w.key, Reason: reasonOf(err), cause: err}
	switch {
	case isMoved(err):
		out.Reason, out.detail = string(metav1.StatusReasonConflict), "the object was changed meanwhile"
		if !apierrors.IsConflict(err) {
			resource := schema.GroupResource{Group: w.kind.Group, Resource: w.kind.Kind}
			out.cause = apierrors.NewConflict(resource, w.key.Name, err)
		}
	case apierrors.IsForbidden(err):
		out.detail = "the right to patch its status subresource is missing, or a policy objects; " +
			"the server's message is in the unwrapped error"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		out.Paths, out.detail = describeCauses(causesOf(err))
	default:
		out.detail = describe(err)
	}
	return out
}

// isMoved recognizes a conflict: by its name, or as the failed test of a JSON patch. The
// server answers that with a 422 that names no cause, the fake client with an error of
// a library for JSON patches.
func isMoved(err error) bool {
	return apierrors.IsConflict(err) || isFailedPatch(err)
}

func isFailedPatch(err error) bool {
	if _, answered := statusOf(err); answered {
		return apierrors.IsInvalid(err) && !hasFields(causesOf(err))
	}
	return err != nil && strings.HasPrefix(err.Error(), "testing value /")
}

func hasFields(causes []metav1.StatusCause) bool {
	return slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Type != metav1.CauseTypeUnexpectedServerResponse })
}

func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

func causesOf(err error) []metav1.StatusCause {
	status, _ := statusOf(err)
	if status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// describeCauses names fields and types; a cause's message quotes values.
func describeCauses(causes []metav1.StatusCause) (paths []string, text string) {
	var parts []string
	for _, cause := range causes {
		if cause.Field != "" && !slices.Contains(paths, cause.Field) {
			paths = append(paths, cause.Field)
			parts = append(parts, fmt.Sprintf("%s (%s)", cause.Field, cause.Type))
		}
	}
	if len(parts) == 0 {
		return nil, "the server named no field; its message is in the unwrapped error"
	}
	return paths, strings.Join(parts, ", ")
}

// describe repeats an error's text only where it is known to quote no object.
func describe(err error) string {
	var (
		netErr net.Error
		urlErr *url.Error
	)
	switch {
	case errors.As(err, &urlErr):
		return urlErr.Err.Error()
	case errors.As(err, &netErr):
		return netErr.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "the context ended"
	}
	if _, answered := statusOf(err); answered {
		return ""
	}
	return fmt.Sprintf("an error of type %T, whose text is in the unwrapped error", err)
}

// reasonOf is a condition reason; that of an answer may be anything a webhook made up.
func reasonOf(err error) string {
	reason := string(apierrors.ReasonForError(err))
	if reason == "" || strings.ContainsFunc(reason, notLetter) {
		return "Unavailable"
	}
	return reason
}
