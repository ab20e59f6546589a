package ensure

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isForAPerson reports whether an event is recorded about an error. An error that ends by itself and a
// mistake in the program are of no use to readers of the owner's events.
func isForAPerson(err *Error) bool {
	classes := []error{ErrForeign, ErrInvalid, ErrImmutable, ErrContested}
	return slices.Contains(classes, err.class) || err.Reason == string(metav1.StatusReasonForbidden)
}
