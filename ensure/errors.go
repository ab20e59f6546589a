package ensure

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/trueup-go/trueup/ensure/internal/fault"
)

// The classes of errors, for errors.Is. Every error of this package is an *Error of exactly one class, but for those of
// Children, and for a joined one of Set with ContinueOnError.
// docs/errors.md describes how to find and resolve the cause of each. The comments here name the
// options that allow an operation. Only the texts of ErrRefused do so, too: readers of the other texts
// may not write Go.
var (
	// ErrRefused: desired, an option or a setting is not usable. Nothing was written. This class includes errors of packages status and
	// finalizer that the caller causes.
	ErrRefused = fault.ErrRefused
	// ErrOwnerTerminating: the owner given to ControlledBy is being deleted, or does not exist any more,
	// so no child is created or updated for it.
	ErrOwnerTerminating = fault.ErrOwnerTerminating
	// ErrTerminating: the child, or its namespace, is being deleted. A later call creates the
	// child again, except with IfExists.
	ErrTerminating = fault.ErrTerminating
	// ErrForeign: an object of that name exists and is not ours. Adopt adopts an object that has no
	// controller, or that another program applied for the same owner. FormerFieldOwners says that
	// objects of earlier names of the field owner are ours. If the controller is an object of the operator,
	// pass that object to ControlledBy.
	ErrForeign = fault.ErrForeign
	// ErrHidden: the child is as desired, but the cache does not show it. If the cache filters by a label,
	// WithLabels adds the label to every child.
	ErrHidden = fault.ErrHidden
	// ErrInvalid: the API server, a webhook or an admission policy refused the child as invalid.
	ErrInvalid = fault.ErrInvalid
	// ErrImmutable: the API server would create desired, but does not accept the change of the existing
	// object, or does not accept that a change by others is reverted. Error.Paths names the differences in the
	// fields that it refuses to change. Recreate deletes the object and creates it again, with OnDrift also because of a
	// change by others. Kinds that hold data require DeleteData, too. Once is for fields that are set at
	// creation only.
	ErrImmutable = fault.ErrImmutable
	// ErrContested: somebody reverts our writes repeatedly, or creates what Absent deletes, or two callers in this process have
	// different desired states of the child, or desired differs in each call. Until Error.After has
	// passed, nothing is written to the child. Error.Rival and Error.Paths name the other writer and
	// the fields. Leave fields that the rival decides out of desired, or give them up with Release. If
	// the rival is the operator itself, give its other writes a field owner of their own
	// (client.WithFieldOwner).
	ErrContested = fault.ErrContested
	// ErrAPI: any other failure of a request, such as a conflict, a missing permission, or an
	// unreachable API server. Error.Reason, and errors.As with an apierrors.APIStatus, give the
	// details.
	ErrAPI = fault.ErrAPI
)

// An Error describes which operation failed for which object, and why. Its text has the operation, the
// kind, the namespace and name, the reason, and the API server's message: one line of at most 1 KiB,
// without parts that differ in each attempt, so that it can be written to a condition. For Secrets, and
// for kinds named by WithSensitive, the fields and types of the causes replace the message, which can
// quote the object. The StatusError that Unwrap returns has the whole message.
type Error struct {
	// Operation is the operation that failed: ensure (in none of the following requests), read, create,
	// apply, repair (the removal of conflicting fields), migrate, release, list, prune or delete.
	Operation string
	// Kind is the kind of the child, empty if the Go type is not in the scheme.
	Kind schema.GroupVersionKind
	// Key is the namespace and name of the child.
	Key types.NamespacedName
	// Reason is a condition reason: the name of the class; for ErrAPI, the API server's reason
	// (Forbidden, Conflict, …) or Unavailable.
	Reason string
	// Paths are the fields that caused the error, if they are known.
	Paths []string
	// Rival is the field manager that reverts our writes, for ErrContested; empty if it is not known.
	// For another process with our field owner, Rival is "another instance of" and the field owner; for
	// another caller, it is "another caller in this process". If desired is not deterministic, Rival is
	// our field owner.
	Rival string
	// After is how long the same call returns this error without a request. It is zero if no request
	// was sent, or if the next call may succeed. Retry waits that long.
	After time.Duration

	class  error
	detail string
	cause  error
	// isKnown means that an earlier call returned the same error: this call sent nothing.
	isKnown bool
	// isRace means that the object is no longer the one that was read, so that one more read is useful.
	isRace bool
}

// Error returns the text that is described at the type Error.
func (e *Error) Error() string { return fault.Text(e.Operation, e.Kind, e.Key, e.Reason, e.detail) }

// Is reports whether target is the class of the error.
func (e *Error) Is(target error) bool { return target == e.class }

// Unwrap returns the StatusError if the API server responded, or another cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// published returns err as callers get it.
func published(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	return &Error{
		Operation: f.Operation, Kind: f.Kind, Key: f.Key, Reason: f.Reason, Paths: f.Paths, Rival: f.Rival, After: f.After,
		class: f.Class, detail: f.Detail, cause: published(f.Cause), isKnown: f.IsKnown, isRace: f.IsRace,
	}
}

// Reason returns a condition reason for err: Error.Reason for an error of this package; Refused for an
// error of packages status and finalizer that the caller caused; the status reason for another response
// of the API server; Unavailable for any other error; and the empty string for nil. For joined errors,
// Reason uses the first error of this package. For an Aggregate, it uses the first error with a reason other
// than Unavailable.
func Reason(err error) string {
	var (
		e         *Error
		aggregate utilerrors.Aggregate
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Reason
	case errors.Is(err, ErrRefused):
		return fault.ReasonOf(ErrRefused)
	case errors.As(err, &aggregate):
		return firstReason(aggregate.Errors())
	}
	return fault.APIReason(err)
}

func firstReason(errs []error) string {
	for _, err := range errs {
		if reason := Reason(err); reason != fault.Unavailable {
			return reason
		}
	}
	return fault.Unavailable
}

// refuseCall returns a refusal that is about no child in particular.
func refuseCall(detail string) *fault.Error { return (&fault.Subject{}).Refuse("", detail) }
