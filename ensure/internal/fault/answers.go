package fault

import (
	"errors"
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
	message := unreasoned(err)
	return strings.HasPrefix(message, mistypedPatch) || isMistyped(message)
}

const mistypedPatch = "failed to create typed patch object"

// isLiveInvalid reports whether the live object does not fit the schema, so that nothing can be merged
// with it.
func isLiveInvalid(err error) bool {
	return strings.HasPrefix(unreasoned(err), "failed to create typed live object")
}

// isMistyped reports whether the schema takes any scalar or list there, and the Go type does not.
func isMistyped(message string) bool {
	return strings.HasPrefix(message, "failed to convert new object") &&
		strings.Contains(message, " to proper version: unable to convert unstructured object to ")
}

// IsUnconvertible reports whether the API server could not convert the object to the API version of an
// entry of the managed fields. An object that does not fit the schema of our own version is another failure.
func IsUnconvertible(err error) bool { return unconvertible.MatchString(unreasoned(err)) }

var unconvertible = regexp.MustCompile(
	`^(failed (to prune fields|add back \w+ items|to convert (old|new|merged|pruned) [^:()]+): )*` +
		`(request to convert CR to an invalid group/version: |(errors:\s+)?\.\w)`)

// unreasoned returns the message of an answer that is a 500 without a reason, which only its message tells from others; empty
// for other answers.
func unreasoned(err error) string {
	if status, ok := answer.Status(err); ok && status.Code == 500 && status.Reason == "" {
		return status.Message
	}
	return ""
}

// IsNamespaceTerminating reports whether the API server creates nothing in a namespace because it is being deleted.
func IsNamespaceTerminating(err error) bool {
	return slices.ContainsFunc(answer.Causes(err), func(cause metav1.StatusCause) bool { return cause.Type == "NamespaceTerminating" })
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
	if !strings.HasPrefix(status.Message, mistypedPatch) {
		return nil
	}
	var fields []string
	for line := range strings.Lines(status.Message) {
		before, found := strings.CutSuffix(strings.TrimSpace(line), ": field not declared in schema")
		if !found {
			continue
		}
		path := strings.TrimPrefix(before[strings.LastIndex(before, " ")+1:], ".")
		if path != "" && !strings.ContainsAny(path, "\"'{}&") && !slices.Contains(fields, path) {
			fields = append(fields, path)
		}
	}
	return fields
}

// IsRefusal reports whether the API server, or a policy, does not want an object to be so.
func IsRefusal(err error) bool { return errors.Is(err, ErrInvalid) || apierrors.IsForbidden(err) }

// NamesFieldsOnly reports whether err is a 422 all of whose causes name fields, none
// of the metadata. A cause without a field is an admission policy's.
func NamesFieldsOnly(err error) bool {
	causes := answer.Causes(err)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || strings.HasPrefix(cause.Field, "metadata")
	})
}

// WithoutIndexes returns fields without the indexes of list items, sorted and each once.
func WithoutIndexes(fields []string) []string {
	bare := make([]string, 0, len(fields))
	for _, field := range fields {
		bare = append(bare, indexes.ReplaceAllString(field, "[]"))
	}
	slices.Sort(bare)
	return slices.Compact(bare)
}

var indexes = regexp.MustCompile(`\[\d+\]`)
