package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypeReady is the type of the condition that sums up the others.
const TypeReady = "Ready"

// Reasons of the summary, when it is not that of one of the others.
const (
	reasonReady       = "Ready"
	reasonNotReported = "NotReported"
)

// Ready writes the condition Ready, the summary of those of the given types, in this
// order. It is
//
//   - True if all are True, for reason Ready;
//   - False if one is False, for the reason of the first that is;
//   - else Unknown, for the reason of the first that is not True.
//
// The message names each that is not True, and why. A condition that is absent counts
// as Unknown, for reason NotReported, and so does one that tells of an earlier
// generation than that of For: nobody has said yet how things stand now. (One without
// observedGeneration is taken at its word.) Of no types at all the summary is Unknown.
//
// It should be told of conditions that are good when True, and only of those: one like
// DeploymentNotReady, good when False, has no place in it. Ready itself is no part of
// its summary.
func (s Setter) Ready(conditions *[]metav1.Condition, types ...string) {
	if conditions == nil {
		return
	}
	considered := 0
	var unready []metav1.Condition
	for _, conditionType := range types {
		if conditionType == TypeReady {
			continue
		}
		considered++
		if part := s.part(*conditions, conditionType); part.Status != metav1.ConditionTrue {
			unready = append(unready, part)
		}
	}
	isFalse := func(c metav1.Condition) bool { return c.Status == metav1.ConditionFalse }
	switch first := slices.IndexFunc(unready, isFalse); {
	case considered == 0:
		s.Unknown(conditions, TypeReady, reasonNotReported, "there is nothing to go by")
	case len(unready) == 0:
		s.True(conditions, TypeReady, reasonReady, "")
	case first < 0:
		s.Unknown(conditions, TypeReady, unready[0].Reason, describeAll(unready))
	default:
		s.False(conditions, TypeReady, unready[first].Reason, describeAll(unready))
	}
}

// part is what the summary takes a condition for.
func (s Setter) part(conditions []metav1.Condition, conditionType string) metav1.Condition {
	found := meta.FindStatusCondition(conditions, conditionType)
	unknown := metav1.Condition{Type: conditionType, Status: metav1.ConditionUnknown, Reason: reasonNotReported}
	if found == nil {
		return unknown
	}
	if found.ObservedGeneration != 0 && found.ObservedGeneration < s.generation {
		unknown.Message = fmt.Sprintf("what it says is of generation %d", found.ObservedGeneration)
		return unknown
	}
	return *found
}

// describeAll is like `Database is False (Progressing): 1 of 3 pods is available`.
func describeAll(unready []metav1.Condition) string {
	texts := make([]string, len(unready))
	for i, part := range unready {
		texts[i] = fmt.Sprintf("%s is %s (%s)", part.Type, part.Status, part.Reason)
		if part.Message != "" {
			texts[i] += ": " + part.Message
		}
	}
	return strings.Join(texts, "; ")
}
