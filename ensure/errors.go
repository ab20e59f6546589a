package ensure

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/internal/answer"
)

// The classes of errors, for errors.Is. Every error of this package is an *Error of
// exactly one of them. docs/errors.md says of each what to look at and what to do; the options
// that would allow something are here, as texts are read by people who write no Go.
var (
	// ErrRefused: desired, an option or a setting is unusable; nothing was written. Errors
	// of packages status and finalizer that are the caller's are of this class, too.
	ErrRefused = answer.ErrRefused
	// ErrOwnerTerminating: the owner given to ControlledBy is being deleted, so
	// nothing is made for it any more.
	ErrOwnerTerminating = errors.New("owner is terminating")
	// ErrTerminating: the child, or its namespace, is being deleted. It is made
	// again once it is gone.
	ErrTerminating = errors.New("terminating")
	// ErrForeign: an object of that name exists and is not ours. Adopt takes over what nobody
	// controls, and what another program made for the same owner; MigrateFrom what an earlier
	// version of the operator made, under its own name or another. If the controller is the
	// operator's own object, give it to ControlledBy.
	ErrForeign = errors.New("foreign")
	// ErrHidden: the child exists, but the cache does not show it. WithLabels stamps the label
	// that a cache selects by on every child.
	ErrHidden = errors.New("hidden from the cache")
	// ErrInvalid: the API server, or an admission policy, refused the child as
	// invalid.
	ErrInvalid = errors.New("invalid")
	// ErrImmutable: the API server would create desired, but does not let the existing
	// object be changed to it. Error.Paths tells where they differ. Recreate deletes the object
	// and makes it again, for kinds that hold data only inside OnlyFor; Once names what is for
	// the creation only.
	ErrImmutable = errors.New("immutable")
	// ErrContested: somebody undoes what we write, again and again; or two callers in this
	// process want different things of the child; or desired is another at each call. Nothing
	// is written to the child until Error.After is over; Error.Rival and Error.Paths tell who
	// and what. Leave out of desired what the rival is to decide; Release hands it over with its
	// value. If the rival is the operator itself, give its other writes a field owner of their
	// own (client.WithFieldOwner).
	ErrContested = errors.New("contested")
	// ErrAPI: any other failure of a request: a conflict, a missing right, a server
	// out of reach. Error.Reason and errors.As with an apierrors.APIStatus tell which.
	ErrAPI = errors.New("request failed")
)

// Error says what could not be done to which object, and why. Its text holds operation, kind,
// namespace, name and reason, and the API server's message if there is one: as one line, cut to
// 1 KiB, less what differs from one try to the next, so that it can be written into a condition.
// For Secrets, and kinds named by WithSensitive, fields and types of causes stand in place of
// the message, which can quote the object. The whole message is in the StatusError that Unwrap
// gives.
type Error struct {
	// Operation is what was tried: ensure (nothing was to be written yet), read, create,
	// apply, repair, migrate, release, list, prune or delete.
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
	// Rival is the field manager that undoes our writes, of an ErrContested; empty if
	// nothing tells. It is "another instance of" our field owner if that is another process,
	// "another caller in this process", or our field owner itself if desired is not
	// deterministic.
	Rival string
	// After is how long the same call will be answered with this error, without a request. It is
	// zero if no request was sent, or if the next call may already succeed. Retry waits that long.
	After time.Duration

	class  error
	detail string
	cause  error
	// isKnown says that it was returned before: nothing was sent this time.
	isKnown bool
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
	switch {
	case e.Key.Name == "" && e.Key.Namespace == "":
		return kind
	case e.Key.Name == "":
		return fmt.Sprintf("%s in namespace %q", kind, e.Key.Namespace)
	case e.Key.Namespace == "":
		return fmt.Sprintf("%s %q", kind, e.Key.Name)
	}
	return fmt.Sprintf("%s %q", kind, e.Key.String())
}

// Is makes errors.Is find the class.
func (e *Error) Is(target error) bool { return target == e.class }

// Unwrap gives the error behind this one: a StatusError if the server answered; nil if
// there is none.
func (e *Error) Unwrap() error { return e.cause }
