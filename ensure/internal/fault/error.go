// Package fault makes the errors of package ensure: each has a class, names the object and the fields, and shows no more of
// the object than readers of a condition may see.
package fault

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/internal/answer"
)

// The classes of errors, which package ensure exports and describes.
var (
	ErrRefused          = answer.ErrRefused
	ErrOwnerTerminating = errors.New("owner is terminating")
	ErrTerminating      = errors.New("terminating")
	ErrForeign          = errors.New("foreign")
	ErrHidden           = errors.New("hidden from the cache")
	ErrInvalid          = errors.New("invalid")
	ErrImmutable        = errors.New("immutable")
	ErrContested        = errors.New("contested")
	ErrAPI              = errors.New("request failed")
)

// reasons are condition reasons by class. The reason of ErrAPI comes from the API server.
var reasons = map[error]string{
	ErrRefused:          "Refused",
	ErrOwnerTerminating: "OwnerTerminating",
	ErrTerminating:      "Terminating",
	ErrForeign:          "Foreign",
	ErrHidden:           "Hidden",
	ErrInvalid:          "Invalid",
	ErrImmutable:        "Immutable",
	ErrContested:        "Contested",
}

// ReasonOf returns the condition reason of a class other than ErrAPI.
func ReasonOf(class error) string { return reasons[class] }

// Unavailable is the reason of an error for which the API server gave none.
const Unavailable = "Unavailable"

// APIReason returns the reason of the API server's response as a condition accepts it.
func APIReason(err error) string { return answer.Reason(err, Unavailable) }

// Reason returns the condition reason of an error of this package, or of another one.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return APIReason(err)
}

// An Error has what ensure.Error has, which is made of an Error at the end of a call.
type Error struct {
	Operation string
	Kind      schema.GroupVersionKind
	Key       types.NamespacedName
	Reason    string
	Paths     []string
	Rival     string
	After     time.Duration

	Class  error
	Detail string
	Cause  error
	// IsKnown means that an earlier call returned the same error: this call sent nothing.
	IsKnown bool
	// BeginsContest means that this error is the first one of a contest.
	BeginsContest bool
	// IsRace means that the object is no longer the one that was read, so that one more read is useful.
	IsRace bool
}

// Error returns the text of ensure.Error.
func (e *Error) Error() string { return Text(e.Operation, e.Kind, e.Key, e.Reason, e.Detail) }

// Is reports whether target is the class of the error.
func (e *Error) Is(target error) bool { return target == e.Class }

// Unwrap returns the StatusError if the API server responded, or another cause, or nil.
func (e *Error) Unwrap() error { return e.Cause }

// Text returns the text of an error about an object: cannot apply Service "shop/web": Invalid: detail.
func Text(operation string, kind schema.GroupVersionKind, key types.NamespacedName, reason, detail string) string {
	text := fmt.Sprintf("cannot %s %s: %s", operation, objectText(kind.Kind, key), reason)
	if detail != "" {
		text += ": " + detail
	}
	return text
}

func objectText(kind string, key types.NamespacedName) string {
	if kind == "" {
		kind = "object"
	}
	switch {
	case key.Name == "" && key.Namespace == "":
		return kind
	case key.Name == "":
		return fmt.Sprintf("%s in namespace %q", kind, key.Namespace)
	case key.Namespace == "":
		return fmt.Sprintf("%s %q", kind, key.Name)
	}
	return fmt.Sprintf("%s %q", kind, key.String())
}

// IsFault reports whether err is an Error already, and not the failure of a request.
func IsFault(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// IsRace reports whether err says that the object is no longer the one that was read.
func IsRace(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.IsRace
}
