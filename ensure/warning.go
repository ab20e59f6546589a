package ensure

import (
	"errors"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/answer"
)

// warn tells of a failure that takes a person to mend, when it is the first of its sort or its text
// has changed.
func (c *child) warn(err error) {
	failed, ok := errors.AsType[*Error](err)
	switch {
	case c.dryRun:
	case err == nil:
		c.memory.Reported.Remove(c.ownedID())
	case ok && isForAPerson(failed) && c.memory.IsNews(c.ownedID(), failed.Reason, digestOf([]byte(failed.Error()))):
		c.tellOf(failed)
	}
}

// isForAPerson reports whether an event tells of an error. What ends by itself, or is a mistake in
// the program, is none for whoever looks at the owner.
func isForAPerson(err *Error) bool {
	classes := []error{ErrForeign, ErrInvalid, ErrImmutable, ErrContested}
	return slices.Contains(classes, err.class) || err.Reason == string(metav1.StatusReasonForbidden)
}

// tellOf makes the event. The reference to the child holds a number of the event: client-go makes a
// series of what is about the same objects at the same versions, and neither the owner nor the
// child need have changed since the last failure.
func (c *child) tellOf(failed *Error) {
	regarding := &corev1.ObjectReference{
		APIVersion: c.apiVersion, Kind: c.gvk.Kind, Namespace: c.key.Namespace, Name: c.key.Name,
	}
	if c.seen != nil {
		regarding = c.referTo(c.seen)
	}
	related := *regarding
	related.FieldPath = "warning[" + strconv.FormatUint(c.warnings.Add(1), 10) + "]"
	if c.controlled {
		regarding = c.referToOwner()
	}
	c.recorder.Eventf(regarding, &related, corev1.EventTypeWarning, failed.Reason, failed.Operation, "%s",
		answer.Cut(failed.Error(), noteLimit))
}
