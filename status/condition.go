package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/status/readiness"
)

// A Setter writes conditions that tell of one generation of an object. It is made by
// For.
//
// Each of its methods sets the one condition of the given type and touches no other.
// What it writes is what the API takes:
//
//   - observedGeneration is that of the object that For saw;
//   - lastTransitionTime moves when the status flips, and at nothing else;
//   - a reason that the API would refuse is made one that it takes: what cannot be in
//     a reason goes, and the message begins with the original. An empty reason is
//     Unspecified;
//   - a message is cut to 32,768 bytes, between two characters, and then ends in an
//     ellipsis. (Custom kinds have room for as many characters, built-in ones for as
//     many bytes.)
//
// The type is written as it is: it is a constant of the operator, and one that the API
// refuses should be seen at the first write, not renamed. Setting a condition of a nil
// list does nothing.
type Setter struct {
	generation int64
}

// For is the Setter for obj's generation as it is now. Call it where the reconcile
// begins: what the reconcile finds out is true of the object that it has read, also
// if Patch reads a newer one before it writes.
func For(obj client.Object) Setter {
	if isNil(obj) {
		return Setter{}
	}
	return Setter{generation: obj.GetGeneration()}
}

// True says that conditionType holds.
func (s Setter) True(conditions *[]metav1.Condition, conditionType, reason, message string) {
	s.set(conditions, conditionType, metav1.ConditionTrue, reason, message)
}

// False says that conditionType does not hold.
func (s Setter) False(conditions *[]metav1.Condition, conditionType, reason, message string) {
	s.set(conditions, conditionType, metav1.ConditionFalse, reason, message)
}

// Unknown says that it is not known whether conditionType holds.
func (s Setter) Unknown(conditions *[]metav1.Condition, conditionType, reason, message string) {
	s.set(conditions, conditionType, metav1.ConditionUnknown, reason, message)
}

// Child writes whether a child is ready: True if its state is readiness.Ready, else False.
// The reason is the state, the message is the Readiness's.
func (s Setter) Child(conditions *[]metav1.Condition, conditionType string, child readiness.Readiness) {
	value := metav1.ConditionFalse
	if child.State == readiness.Ready {
		value = metav1.ConditionTrue
	}
	s.set(conditions, conditionType, value, string(child.State), child.Message)
}

func (s Setter) set(
	conditions *[]metav1.Condition, conditionType string, value metav1.ConditionStatus, reason, message string,
) {
	reason, message = sanitize(reason, message)
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionType, Status: value, ObservedGeneration: s.generation, Reason: reason, Message: message,
	})
}
