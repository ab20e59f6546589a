package ensure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The classes of errors, for errors.Is. Every error of this package is an *Error of
// exactly one of them.
var (
	// ErrRefused: desired, an option or a setting is unusable; nothing was written.
	ErrRefused = errors.New("refused")
	// ErrOwnerTerminating: the owner given to ControlledBy is being deleted, so
	// nothing is made for it any more.
	ErrOwnerTerminating = errors.New("owner is terminating")
	// ErrTerminating: the child, or its namespace, is being deleted. It is made
	// again once it is gone.
	ErrTerminating = errors.New("terminating")
	// ErrForeign: an object of that name exists and is not ours. See Adopt.
	ErrForeign = errors.New("foreign")
	// ErrHidden: the child exists, but the cache does not show it.
	ErrHidden = errors.New("hidden from the cache")
	// ErrInvalid: the API server, or an admission policy, refused the child as
	// invalid.
	ErrInvalid = errors.New("invalid")
	// ErrImmutable: the API server would create desired, but does not let the existing
	// object be changed to it. Error.Paths tells where they differ.
	ErrImmutable = errors.New("immutable")
	// ErrAPI: any other failure of a request: a conflict, a missing right, a server
	// out of reach. Error.Reason and errors.As with an apierrors.APIStatus tell which.
	ErrAPI = errors.New("request failed")
)

// Error says what could not be done to which object, and why. Its text holds
// operation, kind, namespace, name, reason, fields and cause types, and never the
// API server's message, which quotes whole objects, passwords included. That
// message is in the StatusError that Unwrap gives.
type Error struct {
	// Operation is what was tried: ensure (nothing was sent), read, create, apply or
	// repair.
	Operation string
	// Kind of the child; empty if its Go type is in no scheme.
	Kind schema.GroupVersionKind
	// Key is the child's namespace and name.
	Key types.NamespacedName
	// Reason is a condition reason: the name of the class, or for ErrAPI the
	// server's own (Forbidden, Conflict, …) or Unavailable.
	Reason string
	// Paths are the fields at fault, as far as they are known.
	Paths []string

	class  error
	detail string
	cause  error
	// moved says that the object is no longer what was read: worth one fresh read.
	moved bool
}

// Error is the text described at Error.
func (e *Error) Error() string {
	text := fmt.Sprintf("cannot %s %s: %s", e.Operation, e.object(), e.Reason)
	if e.detail != "" {
		text += ": " + e.detail
	}
	return text
}

func (e *Error) object() string {
	kind := e.Kind.Kind
	if kind == "" {
		kind = "object"
	}
	if e.Key.Namespace == "" {
		return fmt.Sprintf("%s %q", kind, e.Key.Name)
	}
	return fmt.Sprintf("%s %q", kind, e.Key.String())
}

// Is makes errors.Is find the class.
func (e *Error) Is(target error) bool { return target == e.class }

// Unwrap gives the error of the request, a StatusError if the server answered;
// nil where nothing was sent.
func (e *Error) Unwrap() error { return e.cause }

// requestError turns the failure of a request into an *Error.
func (c *child) requestError(operation string, err error) *Error {
	out := c.error(ErrAPI, operation, "")
	out.cause = err
	out.moved = apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	out.Paths = pathsOf(err)
	causes, moved := causesOf(err), c.whatMoved(operation, err)
	switch {
	case slices.ContainsFunc(causes, isNamespaceTerminating):
		out.class, out.Reason, out.detail = ErrTerminating, "Terminating", "its namespace is being deleted"
	case moved != "":
		return c.conflict(operation, moved, err)
	case isInvalid(err):
		out.class, out.Reason, out.detail = ErrInvalid, "Invalid", describeCauses(err, causes)
		if len(out.Paths) == 0 {
			out.Paths = undeclaredFields(err)
		}
	case apierrors.IsForbidden(err):
		out.Reason, out.detail = apiReason(err), "a right is missing (it takes get, list, watch, create and patch), "+
			"a quota is used up, or a policy objects; the server's message is in the unwrapped error"
	case apierrors.IsNotFound(err) && isAboutNamespace(err):
		out.Reason, out.detail = apiReason(err), "its namespace does not exist"
	default:
		out.Reason, out.detail = apiReason(err), describe(err)
	}
	return out
}

// conflict says that the object is no longer what was read. Nothing is wrong with
// desired.
func (c *child) conflict(operation, detail string, err error) *Error {
	out := c.error(ErrAPI, operation, detail)
	out.Reason, out.moved = string(metav1.StatusReasonConflict), true
	if err == nil {
		err = errors.New(detail)
	}
	out.cause = apierrors.NewConflict(schema.GroupResource{Group: c.gvk.Group, Resource: c.gvk.Kind}, c.key.Name, err)
	return out
}

// whatMoved recognizes the refusals that are conflicts by another name; empty for
// others.
func (c *child) whatMoved(operation string, err error) string {
	causes, paths := causesOf(err), pathsOf(err)
	switch {
	case !apierrors.IsInvalid(err):
		return ""
	case operation == "apply" && slices.Contains(paths, "metadata.uid"):
		return "it was replaced meanwhile"
	case operation == "apply" && slices.ContainsFunc(causes, isLateFinalizer):
		return "its deletion began meanwhile"
	case operation == "apply" && c.controlled && slices.Contains(paths, "metadata.ownerReferences"):
		return "it got another controller meanwhile"
	case operation == "repair" && len(causes) == 0: // a failed test of the JSON patch
		return "it was changed meanwhile"
	}
	return ""
}

// isLateFinalizer: no finalizer can be added to an object that is being deleted.
func isLateFinalizer(cause metav1.StatusCause) bool {
	return cause.Field == "metadata.finalizers" && cause.Type == metav1.CauseTypeForbidden
}

// isInvalid follows what kube-apiserver 1.36 answers: a body that does not fit the
// schema is a 500 without a reason, told from other failures by its message only.
func isInvalid(err error) bool {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return true
	}
	status, ok := statusOf(err)
	return ok && status.Code == 500 && status.Reason == "" &&
		strings.HasPrefix(status.Message, "failed to create typed patch object")
}

func isNamespaceTerminating(cause metav1.StatusCause) bool {
	return cause.Type == "NamespaceTerminating"
}

func isAboutNamespace(err error) bool {
	status, ok := statusOf(err)
	return ok && status.Details != nil && status.Details.Kind == "namespaces"
}

func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

func causesOf(err error) []metav1.StatusCause {
	status, ok := statusOf(err)
	if !ok || status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// pathsOf are the fields that the causes name, each once.
func pathsOf(err error) []string {
	var paths []string
	for _, cause := range causesOf(err) {
		paths = appendNew(paths, cause.Field)
	}
	return paths
}

// describeCauses names fields and types; a cause's message quotes values.
func describeCauses(err error, causes []metav1.StatusCause) string {
	var parts []string
	for _, cause := range causes {
		if cause.Field != "" {
			parts = appendNew(parts, fmt.Sprintf("%s (%s)", cause.Field, cause.Type))
		}
	}
	for _, field := range undeclaredFields(err) {
		parts = appendNew(parts, field+" (not in the schema)")
	}
	if len(parts) == 0 {
		return "the server named no field; its message is in the unwrapped error"
	}
	return strings.Join(parts, ", ")
}

// undeclaredFields reads the paths of unknown fields out of the message that is
// all the server says about them: "…: .spec.foo: field not declared in schema".
// Only what looks like a path is taken, as the rest may quote the object.
func undeclaredFields(err error) []string {
	status, _ := statusOf(err)
	if !strings.HasPrefix(status.Message, "failed to create typed patch object") {
		return nil
	}
	var fields []string
	for line := range strings.Lines(status.Message) {
		before, found := strings.CutSuffix(strings.TrimSpace(line), ": field not declared in schema")
		if !found {
			continue
		}
		path := strings.TrimPrefix(before[strings.LastIndex(before, " ")+1:], ".")
		if path != "" && !strings.ContainsAny(path, "\"'{}&") {
			fields = appendNew(fields, path)
		}
	}
	return fields
}

// apiReason is a reason that a condition takes. The status reason of an answer may
// be anything a webhook made up.
func apiReason(err error) string {
	reason := string(apierrors.ReasonForError(err))
	if reason == "" || strings.ContainsFunc(reason, notLetter) {
		return "Unavailable"
	}
	return reason
}

func notLetter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// describe repeats an error's text only where it is known to quote no object.
func describe(err error) string {
	var (
		netErr net.Error
		urlErr *url.Error
	)
	switch {
	case meta.IsNoMatchError(err), runtime.IsNotRegisteredError(err):
		return err.Error()
	case runtime.IsMissingKind(err), runtime.IsMissingVersion(err):
		return "apiVersion or kind is not set"
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
	return fmt.Sprintf("an error of type %T", err)
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
