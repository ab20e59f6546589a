package finalizer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

// A requestError tells what could not be done without the server's message, which is in
// cause.
type requestError struct {
	text  string
	cause error
}

func (e *requestError) Error() string { return e.text }

func (e *requestError) Unwrap() error { return e.cause }

// requestError turns the failure of a request into an error that can be shown.
func (h *handling) requestError(doing string, err error) error {
	if moved := whatMoved(err); moved != "" {
		return &requestError{text: h.textOf(doing, "Conflict: "+moved), cause: h.conflict(err)}
	}
	return &requestError{text: h.textOf(doing, describe(err)), cause: err}
}

func (h *handling) cleanupError(step Step, err error) error {
	return fmt.Errorf("cannot clean up for %s of %s: %w", quoted([]string{step.Name}), nameOf(h.client, h.obj), err)
}

func (h *handling) textOf(doing, problem string) string {
	return "cannot " + doing + " " + nameOf(h.client, h.obj) + ": " + problem
}

// conflict is what the API server calls it when an update comes too late.
func (h *handling) conflict(err error) error {
	gvk, _ := h.client.GroupVersionKindFor(h.obj) // known, as the request was answered
	return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, h.obj.GetName(), err)
}

// whatMoved recognizes the refusals that are conflicts by another name; empty for
// others.
func whatMoved(err error) string {
	switch {
	case answer.IsLateFinalizer(err):
		return "its deletion began meanwhile"
	case answer.IsFailedTest(err):
		return "its finalizers were changed meanwhile, or it was replaced"
	}
	return ""
}

// describe names the server's reason, and the fields and types of its causes.
func describe(err error) string {
	if _, answered := answer.Status(err); !answered {
		return answer.Describe(err)
	}
	text, faults := answer.Reason(err, "the request failed"), answer.Faults(err)
	switch {
	case apierrors.IsForbidden(err):
		return text + ": a right is missing (it takes patch), or a policy objects; the server's message is in the unwrapped error"
	case slices.ContainsFunc(answer.Causes(err), isIllFormed):
		return text + ": " + strings.Join(faults, ", ") + "; built-in kinds take no finalizer without a slash"
	case len(faults) > 0:
		return text + ": " + strings.Join(faults, ", ")
	}
	return text + ": the server's message is in the unwrapped error"
}

// isIllFormed: what remains after the check of names is what only built-in kinds refuse.
func isIllFormed(cause metav1.StatusCause) bool {
	return strings.HasPrefix(cause.Field, "metadata.finalizers[") && cause.Type == metav1.CauseTypeFieldValueInvalid
}

// quoted is how a text speaks of finalizers.
func quoted(names []string) string {
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, strconv.Quote(name))
	}
	if len(list) == 1 {
		return "finalizer " + list[0]
	}
	return "finalizers " + strings.Join(list, ", ")
}

// nameOf is how a text speaks of the object.
func nameOf(c client.Client, obj client.Object) string {
	kind := "object"
	if gvk, err := c.GroupVersionKindFor(obj); err == nil {
		kind = gvk.Kind
	}
	return fmt.Sprintf("%s %q", kind, strings.TrimPrefix(client.ObjectKeyFromObject(obj).String(), "/"))
}
