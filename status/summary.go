package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypeReady is the type of the condition that summarizes the others.
const TypeReady = "Ready"

// Reasons of the summary that do not come from a summarized condition.
const (
	reasonReady       = "Ready"
	reasonNotReported = "NotReported"
)

// Ready sets the condition Ready to the summary of the conditions of the given types. The
// summary is
//
//   - True if all are True, with reason Ready;
//   - False if at least one is False, with the reason of the first False condition;
//   - otherwise Unknown, with the reason of the first condition that is not True.
//
// The first condition is the first in the order of types. The message names each condition that is
// not True, with reason and message, or all conditions, with their messages, if all are True. A missing
// condition counts as Unknown, with reason NotReported. A condition whose observedGeneration is earlier
// than the Setter's generation counts as missing, because it does not report the current generation. (A
// condition without observedGeneration counts as current.) Without any types the summary is Unknown.
//
// Pass only types whose normal status is True. A type such as DeploymentNotReady, whose normal
// status is False, does not belong in the summary. The type Ready itself is ignored.
func (s Setter) Ready(conditions *[]metav1.Condition, types ...string) {
	if conditions == nil {
		return
	}
	var ready, unready []metav1.Condition
	for _, conditionType := range types {
		if conditionType == TypeReady {
			continue
		}
		if part := s.counted(*conditions, conditionType); part.Status == metav1.ConditionTrue {
			ready = append(ready, part)
		} else {
			unready = append(unready, part)
		}
	}
	isFalse := func(c metav1.Condition) bool { return c.Status == metav1.ConditionFalse }
	switch first := slices.IndexFunc(unready, isFalse); {
	case len(ready)+len(unready) == 0:
		s.Unknown(conditions, TypeReady, reasonNotReported, "no condition is reported")
	case len(unready) == 0:
		s.True(conditions, TypeReady, reasonReady, describeAll(ready))
	case first < 0:
		s.Unknown(conditions, TypeReady, unready[0].Reason, describeAll(unready))
	default:
		s.False(conditions, TypeReady, unready[first].Reason, describeAll(unready))
	}
}

// counted returns the condition of that type as the summary counts it.
func (s Setter) counted(conditions []metav1.Condition, conditionType string) metav1.Condition {
	found := meta.FindStatusCondition(conditions, conditionType)
	unknown := metav1.Condition{Type: conditionType, Status: metav1.ConditionUnknown, Reason: reasonNotReported}
	if found == nil {
		return unknown
	}
	if found.ObservedGeneration != 0 && found.ObservedGeneration < s.generation {
		unknown.Message = fmt.Sprintf("the condition is of generation %d", found.ObservedGeneration)
		return unknown
	}
	return *found
}

// describeAll returns a text such as `Network is False (Progressing): 1 of 3 pods is available`, or
// `Network is True: 3 of 3 pods are available; Database is True`.
func describeAll(parts []metav1.Condition) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = fmt.Sprintf("%s is %s", part.Type, part.Status)
		if part.Status != metav1.ConditionTrue {
			texts[i] += " (" + part.Reason + ")"
		}
		if part.Message != "" {
			texts[i] += ": " + part.Message
		}
	}
	return strings.Join(texts, "; ")
}
