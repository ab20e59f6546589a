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

// A requestError reports which request failed, and why.
type requestError struct {
	text  string
	cause error
}

func (e *requestError) Error() string { return e.text }

func (e *requestError) Unwrap() error { return e.cause }

// requestError returns the error of a failed request, with a text for users.
func (h *handling) requestError(doing string, err error) error {
	if stale := staleness(err); stale != "" {
		return &requestError{text: h.textOf(doing, "Conflict: "+stale), cause: h.conflict(err)}
	}
	return &requestError{text: h.textOf(doing, h.describe(err)), cause: err}
}

func (h *handling) cleanupError(step Step, err error) error {
	return fmt.Errorf("cannot clean up for %s of %s: %w", quoted([]string{step.Name}), nameOf(h.client, h.obj), err)
}

func (h *handling) textOf(doing, problem string) string {
	return "cannot " + doing + " " + nameOf(h.client, h.obj) + ": " + problem
}

// conflict returns the error that the API server would return for an outdated update.
func (h *handling) conflict(err error) error {
	gvk, _ := h.client.GroupVersionKindFor(h.obj) // known, as the request was answered
	return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, h.obj.GetName(), err)
}

// staleness describes the change that made a patch outdated; empty if err has another cause.
// The API server does not respond with a Conflict in these cases.
func staleness(err error) string {
	switch {
	case answer.IsLateFinalizer(err):
		return "its deletion began after it was read"
	case answer.IsFailedTest(err):
		return "its finalizers were changed, or it was replaced, after it was read"
	}
	return ""
}

// describe returns the API server's reason and message.
func (h *handling) describe(err error) string {
	gvk, _ := h.client.GroupVersionKindFor(h.obj)
	text := answer.Explain(err, gvk.GroupKind(), h.obj.GetName())
	if reason := answer.Reason(err, ""); reason != "" {
		return reason + ": " + text
	}
	return text
}

// quoted returns the finalizers as they appear in a text.
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

// nameOf returns the object as it appears in a text.
func nameOf(c client.Client, obj client.Object) string {
	kind := "object"
	if gvk, err := c.GroupVersionKindFor(obj); err == nil {
		kind = gvk.Kind
	}
	return fmt.Sprintf("%s %q", kind, strings.TrimPrefix(client.ObjectKeyFromObject(obj).String(), "/"))
}
