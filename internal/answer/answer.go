// Package answer reads the answer of an API server to a failed request. The message of such an answer may
// contain the whole object with its passwords, so only people who may read the object may read the message:
// see Message. The reason, the fields and the types of causes contain no content of the object.
package answer

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrRefused is the class of the errors of all packages that are the caller's: no request
// was sent.
var ErrRefused = errors.New("refused")

// Status is the answer in err, and false if no server answered.
func Status(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

// IsSensitive reports whether no message about a kind may be shown. This holds for Secret, and for an
// unknown kind.
func IsSensitive(kind schema.GroupKind) bool {
	return kind.Kind == "" || kind == schema.GroupKind{Kind: "Secret"}
}

// NotShown is said in place of such a message.
const NotShown = "the API server's message is not shown, as it can quote the object"

// Causes are those of the answer, if there are any.
func Causes(err error) []metav1.StatusCause {
	status, _ := Status(err)
	if status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// Fields are those that the causes name, each once. An object that is too large as a whole has the field "[]", which is left
// out.
func Fields(err error) []string {
	return collect(err, func(cause metav1.StatusCause) string {
		if cause.Field == "[]" {
			return ""
		}
		return cause.Field
	})
}

// Faults returns the fields that the causes name with the types of the causes, such as "spec.size
// (FieldValueInvalid)", without duplicates.
func Faults(err error) []string {
	return collect(err, func(cause metav1.StatusCause) string { return fmt.Sprintf("%s (%s)", cause.Field, cause.Type) })
}

// Nulls are the fields that the causes name because they are null and may not be.
func Nulls(err error) []string {
	return collect(err, func(cause metav1.StatusCause) string {
		if cause.Type != metav1.CauseTypeTypeInvalid || !strings.HasSuffix(cause.Message, `: "null"`) {
			return ""
		}
		return cause.Field
	})
}

// collect leaves out causes without a field. The rule at the root of a custom kind has the field "<nil>", and so has the
// remark that some rules were not checked.
func collect(err error, text func(metav1.StatusCause) string) []string {
	var texts []string
	for _, cause := range Causes(err) {
		if t := text(cause); cause.Field != "" && cause.Field != "<nil>" && t != "" && !slices.Contains(texts, t) {
			texts = append(texts, t)
		}
	}
	return texts
}

// Reason returns the reason of the answer if a condition accepts the reason. A webhook may give no
// reason, or one of several words: then Reason returns that of the code, if the code is between 400 and
// 499. For any other code, and without an answer, Reason returns otherwise.
func Reason(err error, otherwise string) string {
	status, _ := Status(err)
	if isTooLarge(status) {
		return string(metav1.StatusReasonRequestEntityTooLarge)
	}
	reason := string(status.Reason)
	if isWord(reason) {
		return reason
	}
	if status.Code < http.StatusInternalServerError {
		reason = string(reasonOf(status.Code))
	}
	return cmp.Or(reason, otherwise)
}

// reasonOf returns the reason that clients give to an answer that has a code only.
func reasonOf(code int32) metav1.StatusReason {
	return apierrors.NewGenericServerResponse(int(code), "", schema.GroupResource{}, "", "", 0, false).ErrStatus.Reason
}

func isWord(reason string) bool { return reason != "" && !strings.ContainsFunc(reason, notLetter) }

func notLetter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// IsGone reports whether the object does not exist. A webhook may answer NotFound for another object,
// and a server without such a resource answers NotFound with a cause.
func IsGone(err error) bool {
	return apierrors.IsNotFound(err) && len(Causes(err)) == 0 && !IsWebhook(err)
}

// IsFinal reports whether the server judged the request and would judge the same request alike: the
// server was not too busy, did not fail, and nobody changed the object in between.
func IsFinal(err error) bool {
	status, ok := Status(err)
	return ok && (status.Code < http.StatusInternalServerError || isTooLarge(status)) && !apierrors.IsConflict(err) &&
		status.Code != http.StatusTooManyRequests && status.Code != http.StatusRequestTimeout
}

// isTooLarge reports whether the database did not take an object that the API server accepted: with its managed
// fields, the object is larger than the request was. Such an answer is a 500 without a reason; only the message
// shows it.
func isTooLarge(status metav1.Status) bool {
	return status.Code == http.StatusInternalServerError && status.Reason == "" &&
		strings.HasSuffix(status.Message, "etcdserver: request is too large")
}

// IsThere reports whether an object of that name exists already. A webhook may answer so, too.
func IsThere(err error) bool {
	return apierrors.IsAlreadyExists(err) && !IsWebhook(err)
}

// IsFailedTest reports whether a test of a JSON patch failed: the object changed after the read. Such
// an answer is a 422 without causes. The answer of a webhook may look the same.
func IsFailedTest(err error) bool {
	return apierrors.IsInvalid(err) && len(Causes(err)) == 0 && !IsWebhook(err)
}

// IsWebhook reports whether a webhook refused the request. The answer of a webhook may have any code;
// only the beginning of its message shows the webhook.
func IsWebhook(err error) bool {
	status, _ := Status(err)
	return isFromWebhook(status)
}

func isFromWebhook(status metav1.Status) bool {
	return strings.HasPrefix(status.Message, "admission webhook ")
}

// IsLateFinalizer reports whether a finalizer came too late: none can be added to an
// object that is being deleted.
func IsLateFinalizer(err error) bool {
	return apierrors.IsInvalid(err) && slices.ContainsFunc(Causes(err), func(cause metav1.StatusCause) bool {
		return cause.Field == "metadata.finalizers" && cause.Type == metav1.CauseTypeForbidden
	})
}
