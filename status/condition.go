package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/object"
	"github.com/trueup-go/trueup/status/readiness"
)

// A Setter writes conditions about one generation of an object. For returns one.
//
// Each method sets the condition of the given type and leaves all others alone. The API
// server accepts every condition that a Setter writes:
//
//   - observedGeneration is the generation of the object given to For;
//   - lastTransitionTime changes only when the status of the condition changes;
//   - an invalid reason is corrected: invalid characters are removed, and the message begins with
//     the original reason. An empty reason becomes Unspecified;
//   - a long message is truncated to 32,768 bytes, at a character boundary, and ends with an
//     ellipsis. (The limit counts characters for custom kinds, and bytes for built-in kinds.)
//
// The type is written unchanged: types are constants of the operator, so the API server refuses an
// invalid type at the first write. If the pointer conditions is nil, a method does nothing.
type Setter struct {
	generation int64
}

// For returns the Setter for obj's current generation. Call For at the beginning of a
// reconcile: the conditions then describe the object that the reconcile has read, even if
// Patch reads a newer one before writing.
func For(obj client.Object) Setter {
	if object.IsUnusable(obj) {
		return Setter{}
	}
	return Setter{generation: obj.GetGeneration()}
}

// True sets the condition conditionType to True.
func (s Setter) True(conditions *[]metav1.Condition, conditionType, reason, message string) {
	s.set(conditions, conditionType, metav1.ConditionTrue, reason, message)
}

// False sets the condition conditionType to False.
func (s Setter) False(conditions *[]metav1.Condition, conditionType, reason, message string) {
	s.set(conditions, conditionType, metav1.ConditionFalse, reason, message)
}

// Unknown sets the condition conditionType to Unknown.
func (s Setter) Unknown(conditions *[]metav1.Condition, conditionType, reason, message string) {
	s.set(conditions, conditionType, metav1.ConditionUnknown, reason, message)
}

// Child sets the condition conditionType to True if child is Ready, and to False otherwise.
// The reason and the message are those of child. For a child without a reason, which the caller made,
// the reason is the state.
func (s Setter) Child(conditions *[]metav1.Condition, conditionType string, child readiness.Readiness) {
	value := metav1.ConditionFalse
	if child.State == readiness.Ready {
		value = metav1.ConditionTrue
	}
	s.set(conditions, conditionType, value, reasonOf(child), child.Message)
}

func (s Setter) set(
	conditions *[]metav1.Condition, conditionType string, value metav1.ConditionStatus, reason, message string,
) {
	reason, message = sanitize(reason, message)
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionType, Status: value, ObservedGeneration: s.generation, Reason: reason, Message: message,
	})
}
