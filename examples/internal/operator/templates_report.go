package operator

import (
	"errors"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/template"
)

// ReasonInvalidTemplate is of a condition and of an event: no children can be made, because
// of a template or of what it makes of an object's spec.
const ReasonInvalidTemplate = "InvalidTemplate"

// noteLimit is what the API takes for an event's note, in bytes.
const noteLimit = 1024

// IsInvalidTemplate tells errors about templates from others.
func IsInvalidTemplate(err error) bool {
	_, is := errors.AsType[*template.Error](err)
	return is
}

// IsNews reports whether the condition of that type says something else than message. It is
// asked before the condition is written, so that an event comes with a change and not with
// every retry.
func IsNews(conditions []metav1.Condition, conditionType, message string) bool {
	condition := meta.FindStatusCondition(conditions, conditionType)
	return condition == nil || condition.Message != message
}

// WarnOfTemplate emits an event on obj that says what is wrong with a template, or with what it asks for.
func WarnOfTemplate(recorder events.EventRecorder, obj client.Object, reason, note string) {
	if len(note) > noteLimit {
		end := noteLimit
		for !utf8.RuneStart(note[end]) {
			end--
		}
		note = note[:end]
	}
	recorder.Eventf(obj, nil, corev1.EventTypeWarning, reason, "Render", "%s", note)
}
