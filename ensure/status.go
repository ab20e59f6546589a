package ensure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isLateFinalizer: no finalizer can be added to an object that is being deleted.
func isLateFinalizer(cause metav1.StatusCause) bool {
	return cause.Field == "metadata.finalizers" && cause.Type == metav1.CauseTypeForbidden
}

// isInvalid follows what kube-apiserver 1.36 answers: a body that does not fit the
// schema is a 500 without a reason, told from other failures by its message only.
func isInvalid(err error) bool {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return true
	}
	status, ok := statusOf(err)
	return ok && status.Code == 500 && status.Reason == "" &&
		(strings.HasPrefix(status.Message, "failed to create typed patch object") || isMistyped(status.Message))
}

// isMistyped: the schema takes any scalar or list there, the Go type does not.
func isMistyped(message string) bool {
	return strings.HasPrefix(message, "failed to convert new object") &&
		strings.Contains(message, " to proper version: unable to convert unstructured object to ")
}

// isWebhooks reports whether an admission webhook refused, which may do so without a cause.
func isWebhooks(err error) bool {
	status, ok := statusOf(err)
	return ok && strings.HasPrefix(status.Message, "admission webhook ")
}

func isNamespaceTerminating(cause metav1.StatusCause) bool {
	return cause.Type == "NamespaceTerminating"
}

func isAboutNamespace(err error) bool {
	status, ok := statusOf(err)
	return ok && status.Details != nil && status.Details.Kind == "namespaces"
}

func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

func causesOf(err error) []metav1.StatusCause {
	status, ok := statusOf(err)
	if !ok || status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// pathsOf are the fields that the causes name, each once.
func pathsOf(err error) []string {
	var paths []string
	for _, cause := range causesOf(err) {
		paths = appendNew(paths, cause.Field)
	}
	return paths
}

// describeCauses names fields and types; a cause's message quotes values.
func describeCauses(err error, causes []metav1.StatusCause) string {
	var parts []string
	for _, cause := range causes {
		if cause.Field != "" {
			parts = appendNew(parts, fmt.Sprintf("%s (%s)", cause.Field, cause.Type))
		}
	}
	for _, field := range undeclaredFields(err) {
		parts = appendNew(parts, field+" (not in the schema)")
	}
	if len(parts) == 0 {
		return "the server named no field; its message is in the unwrapped error"
	}
	return strings.Join(parts, ", ")
}

// undeclaredFields reads the paths of unknown fields out of the message that is
// all the server says about them: "…: .spec.foo: field not declared in schema".
// Only what looks like a path is taken, as the rest may quote the object.
func undeclaredFields(err error) []string {
	status, _ := statusOf(err)
	if !strings.HasPrefix(status.Message, "failed to create typed patch object") {
		return nil
	}
	var fields []string
	for line := range strings.Lines(status.Message) {
		before, found := strings.CutSuffix(strings.TrimSpace(line), ": field not declared in schema")
		if !found {
			continue
		}
		path := strings.TrimPrefix(before[strings.LastIndex(before, " ")+1:], ".")
		if path != "" && !strings.ContainsAny(path, "\"'{}&") {
			fields = appendNew(fields, path)
		}
	}
	return fields
}

// apiReason is a reason that a condition takes. The status reason of an answer may
// be anything a webhook made up.
func apiReason(err error) string {
	reason := string(apierrors.ReasonForError(err))
	if reason == "" || strings.ContainsFunc(reason, notLetter) {
		return "Unavailable"
	}
	return reason
}

func notLetter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
