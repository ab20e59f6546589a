package fault

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
)

// Operations of patches that change managed fields only, as errors name them.
const (
	Migrating = "migrate" // takes fields from older versions
	Releasing = "release" // gives up fields of this field owner
)

// A Subject is the object that errors are about. The zero Subject is no object in particular.
type Subject struct {
	Kind schema.GroupVersionKind
	Key  types.NamespacedName
	// IsSensitive means that the API server's messages, which can quote the object, are not shown, and neither are values.
	IsSensitive bool
	// IsControlled means that the caller named the controller of the object.
	IsControlled bool
}

// Fail returns an error of class.
func (s *Subject) Fail(class error, operation, detail string, paths ...string) *Error {
	shown := slices.Clone(paths)
	for i, path := range paths {
		shown[i] = s.Shown(path)
		detail = strings.ReplaceAll(detail, path, shown[i])
	}
	return &Error{
		Operation: operation, Kind: s.Kind, Key: s.Key,
		Reason: reasons[class], Paths: shown, Class: class, Detail: detail,
	}
}

// Refuse returns an ErrRefused about path, which may be empty. No request was sent for it.
func (s *Subject) Refuse(path, detail string) *Error {
	if path == "" {
		return s.Fail(ErrRefused, "ensure", detail)
	}
	return s.Fail(ErrRefused, "ensure", path+" "+detail, path)
}

// RefuseBecause returns an ErrRefused with a cause.
func (s *Subject) RefuseBecause(cause error, detail string) *Error {
	refusal := s.Refuse("", detail)
	refusal.Cause = cause
	return refusal
}

// Unencodable returns the error for a desired state that no apply could carry.
func (s *Subject) Unencodable(err error) *Error {
	if duplicate, ok := errors.AsType[*canon.DuplicateError](err); ok {
		return s.Refuse(duplicate.Path, "occurs twice: the items of this list must have different keys")
	}
	return s.RefuseBecause(err, "cannot be encoded: "+err.Error())
}

// Undigestible returns the error for a desired state whose digest cannot be computed or stored.
func (s *Subject) Undigestible(err error) *Error {
	return s.RefuseBecause(err, "cannot compute or store its digest: "+err.Error())
}

// Conflict returns the error for an object that changed after the read. Nothing is wrong with desired.
func (s *Subject) Conflict(operation, detail string, err error) *Error {
	out := s.Fail(ErrAPI, operation, detail)
	out.Reason, out.IsRace = string(metav1.StatusReasonConflict), true
	if err == nil {
		err = errors.New(detail)
	}
	out.Cause = apierrors.NewConflict(schema.GroupResource{Group: s.Kind.Group, Resource: s.Kind.Kind}, s.Key.Name, err)
	return out
}

// Request returns the error for a request that failed.
func (s *Subject) Request(operation string, err error) *Error {
	if moved := s.conflictDetail(operation, err); moved != "" {
		return s.Conflict(operation, moved, err)
	}
	out := s.Fail(ErrAPI, operation, "")
	out.Cause = err
	out.IsRace = (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) && !answer.IsWebhook(err) ||
		isTransfer(operation) && answer.IsGone(err)
	out.Paths = answer.Fields(err)
	switch {
	case IsNamespaceTerminating(err):
		out.Class, out.Reason, out.Detail = ErrTerminating, "Terminating", "its namespace is being deleted"
	case isInvalid(err):
		out.Class, out.Reason, out.Detail = ErrInvalid, "Invalid", s.Message(err, describeCauses(err))
		if len(out.Paths) == 0 {
			out.Paths = undeclaredFields(err)
		}
	case isLiveInvalid(err):
		out.Class, out.Reason, out.Detail = ErrInvalid, "Invalid", "the live object does not fit the schema of "+
			s.Kind.GroupVersion().String()+", so every apply fails: correct the object or the schema: "+s.Message(err, answer.NotShown)
	case apierrors.IsForbidden(err):
		out.Reason, out.Detail = APIReason(err), s.Message(err, "a permission is missing ("+rightsTo(operation)+"), "+
			"a quota is exhausted, or a policy refuses the request; "+answer.NotShown)
	case apierrors.IsNotFound(err) && isAboutNamespace(err):
		out.Reason, out.Detail = APIReason(err), "its namespace does not exist"
	default:
		out.Reason, out.Detail = APIReason(err), s.Message(err, answer.Describe(err))
	}
	return out
}

// conflictDetail returns what happened if a refusal is a conflict by another name, and else nothing.
func (s *Subject) conflictDetail(operation string, err error) string {
	paths := answer.Fields(err)
	switch {
	case !apierrors.IsInvalid(err):
		return ""
	case (operation == "apply" || operation == Releasing) && slices.Contains(paths, "metadata.uid"):
		return "it was replaced meanwhile"
	case operation == "apply" && answer.IsLateFinalizer(err):
		return "its deletion began meanwhile"
	case operation == "apply" && s.IsControlled && slices.Contains(paths, "metadata.ownerReferences"):
		return "it got another controller meanwhile"
	case isTested(operation) && answer.IsFailedTest(err):
		return "it was changed meanwhile"
	}
	return ""
}

// isTested reports whether operation is a JSON patch that tests the values on which it depends.
func isTested(operation string) bool { return operation == "repair" || isTransfer(operation) }

func isTransfer(operation string) bool { return operation == Migrating || operation == Releasing }

// rightsTo names the rights that an operation takes.
func rightsTo(operation string) string {
	switch operation {
	case "delete":
		return "delete on its kind"
	case "list":
		return "list on its kind, and watch for a cache"
	case "prune":
		return "get on the owner's kind"
	}
	return "needed: get, list, watch, create and patch, and with ControlledBy update on the finalizers of the owner's kind, " +
		"and delete for an object that lacks the owner reference"
}

// Message returns the API server's message, or otherwise if the message is not to be shown.
func (s *Subject) Message(err error, otherwise string) string {
	if s.IsSensitive {
		return otherwise
	}
	return cmp.Or(answer.Message(err, s.Key.Name), otherwise)
}

// Shown returns path up to the first list item or map key if the kind is sensitive: an item is named by a value. The keys
// of Secrets and ConfigMaps are shown.
func (s *Subject) Shown(path string) string {
	field, _, isCut := strings.Cut(path, "[")
	isKey := slices.Contains([]string{"data", "stringData", "binaryData"}, field)
	if !isCut || isKey || strings.HasPrefix(path, "metadata.") || !s.IsSensitive {
		return path
	}
	return field + "[…]"
}

// UnknownKind returns the error for an object of unknown kind, which role names, such as "it".
func (s *Subject) UnknownKind(role string, err error) *Error {
	return s.RefuseBecause(err, fmt.Sprintf("%s has no kind: %s; add its Go type to the client's scheme, "+
		"or set apiVersion and kind of an unstructured object", role, answer.Describe(err)))
}
