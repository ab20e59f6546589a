package ensure

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/internal/answer"
)

// The classes of errors, for errors.Is. Every error of this package is an *Error of exactly one
// class. docs/errors.md says how to find the cause of each and what to do. The options that would
// allow a refused operation are named here, because readers of the texts may not write Go.
var (
	// ErrRefused: desired, an option or a setting is not usable. Nothing was written. Errors of
	// packages status and finalizer that the caller causes belong to this class, too.
	ErrRefused = answer.ErrRefused
	// ErrOwnerTerminating: the owner given to ControlledBy is being deleted, so no child is
	// created or updated for it.
	ErrOwnerTerminating = errors.New("owner is terminating")
	// ErrTerminating: the child, or its namespace, is being deleted. A later call creates the
	// child again.
	ErrTerminating = errors.New("terminating")
	// ErrForeign: an object of that name exists and is not ours. Adopt takes over an object that
	// nobody controls, or that another program created for the same owner. MigrateFrom takes over
	// an object of an earlier version of the operator, under its own or another name. If the
	// controller is the operator's own object, pass it to ControlledBy.
	ErrForeign = errors.New("foreign")
	// ErrHidden: the child exists, but the cache does not show it. WithLabels adds the label by
	// which a cache selects to every child.
	ErrHidden = errors.New("hidden from the cache")
	// ErrInvalid: the API server, a webhook or an admission policy refused the child as invalid.
	ErrInvalid = errors.New("invalid")
	// ErrImmutable: the API server would create desired, but does not accept the change of the
	// existing object. Error.Paths names the differences. Recreate deletes the object and creates
	// it again; for kinds that hold data, only inside OnlyFor. Once excludes fields that are set at
	// creation only.
	ErrImmutable = errors.New("immutable")
	// ErrContested: somebody reverts our writes again and again, or two callers in this process
	// want different states of the child, or desired differs in each call. Until Error.After has
	// passed, nothing is written to the child. Error.Rival and Error.Paths name the other side
	// and the fields. Leave fields that the rival decides out of desired, or hand them over with
	// Release. If the rival is the operator itself, give its other writes a field owner of their
	// own (client.WithFieldOwner).
	ErrContested = errors.New("contested")
	// ErrAPI: another failure of a request, such as a conflict, a missing right, or an API server
	// that cannot be reached. Error.Reason, and errors.As with an apierrors.APIStatus, give the
	// details.
	ErrAPI = errors.New("request failed")
)

// An Error says which operation failed for which object, and why. Its text has the operation, the
// kind, the namespace and name, the reason, and the API server's message: one line of at most 1 KiB,
// without parts that differ in each attempt, so that it can be written to a condition. For Secrets, and
// for kinds named by WithSensitive, the fields and types of the causes replace the message, which can
// quote the object. The StatusError that Unwrap returns has the whole message.
type Error struct {
	// Operation is the operation that failed: ensure (before any write), read, create, apply, repair, migrate,
	// release, list, prune or delete.
	Operation string
	// Kind is the kind of the child, empty if the Go type is not in the scheme.
	Kind schema.GroupVersionKind
	// Key is the namespace and name of the child.
	Key types.NamespacedName
	// Reason is a condition reason: the name of the class; for ErrAPI, the API server's reason
	// (Forbidden, Conflict, …) or Unavailable.
	Reason string
	// Paths are the fields at fault, if they are known.
	Paths []string
	// Rival is the field manager that reverts our writes, for ErrContested; empty if it is not
	// known. The rival is "another instance of" our field owner for another process, "another caller in
	// this process", or our field owner itself if desired is not deterministic.
	Rival string
	// After is how long the same call will return this error without a request, zero if no
	// request was sent, or if the next call may succeed. Retry waits that long.
	After time.Duration

	class  error
	detail string
	cause  error
	// isKnown means that an earlier call returned the same error: this call sent nothing.
	isKnown bool
	// moved means that the object is no longer the one that was read, so one more read is useful.
	moved bool
}

// Error returns the text described at Error.
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

// Is reports whether target is the class of the error.
func (e *Error) Is(target error) bool { return target == e.class }

// Unwrap returns the StatusError if the API server answered, or another cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

func hasMoved(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.moved
}
