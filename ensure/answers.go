package ensure

import (
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/answer"
)

// isInvalid reports whether the API server found the request invalid. kube-apiserver 1.36 answers a
// body that does not fit the schema with a 500 without a reason; only the message shows the difference
// to other failures.
func isInvalid(err error) bool {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return true
	}
	status, ok := answer.Status(err)
	return ok && status.Code == 500 && status.Reason == "" &&
		(strings.HasPrefix(status.Message, "failed to create typed patch object") || isMistyped(status.Message))
}

// isLiveInvalid reports whether the live object does not fit the schema, so that nothing can be merged
// with it.
func isLiveInvalid(err error) bool {
	status, ok := answer.Status(err)
	return ok && status.Code == 500 && status.Reason == "" && strings.HasPrefix(status.Message, "failed to create typed live object")
}

// isMistyped: the schema takes any scalar or list there, the Go type does not.
func isMistyped(message string) bool {
	return strings.HasPrefix(message, "failed to convert new object") &&
		strings.Contains(message, " to proper version: unable to convert unstructured object to ")
}

func isNamespaceTerminating(cause metav1.StatusCause) bool {
	return cause.Type == "NamespaceTerminating"
}

func isAboutNamespace(err error) bool {
	status, ok := answer.Status(err)
	return ok && status.Details != nil && status.Details.Kind == "namespaces"
}

// describeCauses names fields and types, and no values.
func describeCauses(err error) string {
	faults := answer.Faults(err)
	for _, field := range undeclaredFields(err) {
		faults = append(faults, field+" (not in the schema)")
	}
	if len(faults) == 0 {
		return "the API server names no field; " + answer.NotShown
	}
	return strings.Join(faults, ", ")
}

// undeclaredFields returns the paths of unknown fields in the message of the API server, which names
// them nowhere else: "…: .spec.foo: field not declared in schema". Only words that look like paths are
// taken, as the rest may quote the object.
func undeclaredFields(err error) []string {
	status, _ := answer.Status(err)
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

// apiReason is a reason that a condition takes.
func apiReason(err error) string { return answer.Reason(err, unavailable) }

// unavailable is the reason of an error that the server gave none for.
const unavailable = "Unavailable"

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func withoutIndexes(fields []string) []string {
	bare := make([]string, 0, len(fields))
	for _, field := range fields {
		bare = append(bare, indexes.ReplaceAllString(field, "[]"))
	}
	slices.Sort(bare)
	return slices.Compact(bare)
}

var indexes = regexp.MustCompile(`\[\d+\]`)
