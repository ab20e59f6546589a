package operator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReasonInvalidTemplate is the reason of a condition and of an event. It means that a template is invalid,
// or that the result of a template for the spec of an object is invalid.
const ReasonInvalidTemplate = "InvalidTemplate"

// noteLimit is the largest size of the note of an event, in bytes.
const noteLimit = 1024

// IsNews reports whether message differs from the message of the condition. Call IsNews before writing
// the condition, so that an event is recorded for each new message and not for each retry.
func IsNews(conditions []metav1.Condition, conditionType, message string) bool {
	condition := meta.FindStatusCondition(conditions, conditionType)
	return condition == nil || condition.Message != message
}

// Warn records a warning event about a mistake in obj or in the templates. Write the condition of obj
// first, so that obj has a new resourceVersion: for the resourceVersion of an earlier warning,
// client-go would count that warning again and drop this note.
func Warn(recorder events.EventRecorder, obj client.Object, reason, note string) {
	if len(note) > noteLimit {
		note = strings.ToValidUTF8(note[:noteLimit], "") // without part of a rune
	}
	recorder.Eventf(obj, nil, corev1.EventTypeWarning, reason, "Reject", "%s", note)
}
