package operator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReasonInvalidTemplate is of a condition and of an event: no children can be made, because
// of a template or of what it makes of an object's spec.
const ReasonInvalidTemplate = "InvalidTemplate"

// noteLimit is what the API takes for an event's note, in bytes.
const noteLimit = 1024

// IsNews reports whether the condition of that type says something else than message. It is
// asked before the condition is written, so that an event comes with a change and not with
// every retry.
func IsNews(conditions []metav1.Condition, conditionType, message string) bool {
	condition := meta.FindStatusCondition(conditions, conditionType)
	return condition == nil || condition.Message != message
}

// Warn emits an event on obj that says why no children are made for it: what is wrong with it,
// or with the templates. obj's condition has just been written: with a resourceVersion that an
// earlier warning had, client-go would count that one again and drop this note.
func Warn(recorder events.EventRecorder, obj client.Object, reason, note string) {
	if len(note) > noteLimit {
		note = strings.ToValidUTF8(note[:noteLimit], "") // without part of a rune
	}
	recorder.Eventf(obj, nil, corev1.EventTypeWarning, reason, "Reject", "%s", note)
}
