package finalizer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
// others. A failed test of a JSON patch is a 422 without causes, and a webhook may
// refuse like that, too.
func whatMoved(err error) string {
	status, _ := statusOf(err)
	causes := causesOf(status)
	switch {
	case !apierrors.IsInvalid(err):
		return ""
	case slices.ContainsFunc(causes, isLate):
		return "its deletion began meanwhile"
	case len(causes) == 0 && !strings.HasPrefix(status.Message, "admission webhook "):
		return "its finalizers were changed meanwhile, or it was replaced"
	}
	return ""
}

// isLate: no finalizer can be added to an object that is being deleted.
func isLate(cause metav1.StatusCause) bool {
	return cause.Field == "metadata.finalizers" && cause.Type == metav1.CauseTypeForbidden
}

// describe repeats an error's text only where it is known to quote no object.
func describe(err error) string {
	if status, answered := statusOf(err); answered {
		return describeAnswer(err, causesOf(status))
	}
	var urlErr *url.Error
	switch {
	case meta.IsNoMatchError(err), runtime.IsNotRegisteredError(err):
		return err.Error()
	case runtime.IsMissingKind(err), runtime.IsMissingVersion(err):
		return "apiVersion or kind is not set"
	case errors.As(err, &urlErr):
		return urlErr.Err.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "the context ended"
	}
	return fmt.Sprintf("an error of type %T, whose text is in the unwrapped error", err)
}

// describeAnswer names the server's reason, and the fields and types of its causes; a
// cause's message quotes values.
func describeAnswer(err error, causes []metav1.StatusCause) string {
	var faults []string
	for _, cause := range causes {
		fault := fmt.Sprintf("%s (%s)", cause.Field, cause.Type)
		if cause.Field != "" && !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	text := reasonOf(err)
	switch {
	case apierrors.IsForbidden(err):
		return text + ": a right is missing (it takes patch), or a policy objects; the server's message is in the unwrapped error"
	case slices.ContainsFunc(causes, isIllFormed):
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

// reasonOf leaves out what a webhook made up.
func reasonOf(err error) string {
	reason := string(apierrors.ReasonForError(err))
	if reason == "" || strings.ContainsFunc(reason, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return "the request failed"
	}
	return reason
}

func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

func causesOf(status metav1.Status) []metav1.StatusCause {
	if status.Details == nil {
		return nil
	}
	return status.Details.Causes
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
