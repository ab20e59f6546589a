package ensure

import (
	"errors"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/answer"
)

// warn records an event about a failure that a person has to resolve, if the failure is the first of
// its reason or has another text than the last one.
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

// isForAPerson reports whether an event is recorded about an error. An error that ends by itself and a
// mistake in the program are of no use to readers of the owner's events.
func isForAPerson(err *Error) bool {
	classes := []error{ErrForeign, ErrInvalid, ErrImmutable, ErrContested}
	return slices.Contains(classes, err.class) || err.Reason == string(metav1.StatusReasonForbidden)
}

// tellOf records the event. The reference to the child contains a number of the event: client-go
// combines events about the same objects with the same versions into a series, and neither the owner
// nor the child may have changed since the last failure.
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
