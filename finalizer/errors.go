package finalizer

import (
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

// A requestError tells what could not be done, and why.
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
	return &requestError{text: h.textOf(doing, h.describe(err)), cause: err}
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
		return "its deletion began after it was read"
	case answer.IsFailedTest(err):
		return "its finalizers were changed, or it was replaced, after it was read"
	}
	return ""
}

// describe gives the API server's reason and message.
func (h *handling) describe(err error) string {
	gvk, _ := h.client.GroupVersionKindFor(h.obj)
	text := answer.Explain(err, gvk.GroupKind(), h.obj.GetName())
	if reason := answer.Reason(err, ""); reason != "" {
		return reason + ": " + text
	}
	return text
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
