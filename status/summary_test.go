package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/status"
)

func TestReady(t *testing.T) {
	good := func(name string) metav1.Condition {
		return condition(name, metav1.ConditionTrue, "Fine", "all is well")
	}
	bad := func(name string) metav1.Condition {
		return condition(name, metav1.ConditionFalse, name+"Down", "it is down")
	}
	dark := func(name string) metav1.Condition { return condition(name, metav1.ConditionUnknown, name+"Dark", "") }
	old := func(c metav1.Condition) metav1.Condition {
		c.ObservedGeneration = 2
		return c
	}
	for _, test := range []struct {
		name       string
		conditions []metav1.Condition
		types      []string
		want       metav1.Condition
	}{
		{
			name: "all are True", conditions: []metav1.Condition{good("A"), good("B")}, types: []string{"A", "B"},
			want: condition("Ready", metav1.ConditionTrue, "Ready", "A is True: all is well; B is True: all is well"),
		},
		{
			name: "those not asked about do not count", conditions: []metav1.Condition{good("A"), bad("NotReady")}, types: []string{"A"},
			want: condition("Ready", metav1.ConditionTrue, "Ready", "A is True: all is well"),
		},
		{
			name: "the declared order counts", conditions: []metav1.Condition{bad("B"), good("C"), bad("A")}, types: []string{"A", "B", "C"},
			want: condition("Ready", metav1.ConditionFalse, "ADown", "A is False (ADown): it is down; B is False (BDown): it is down"),
		},
		{
			name: "False comes before Unknown", conditions: []metav1.Condition{dark("A"), bad("B")}, types: []string{"A", "B"},
			want: condition("Ready", metav1.ConditionFalse, "BDown", "A is Unknown (ADark); B is False (BDown): it is down"),
		},
		{
			name: "Unknown comes before True", conditions: []metav1.Condition{good("A"), dark("B"), dark("C")}, types: []string{"A", "B", "C"},
			want: condition("Ready", metav1.ConditionUnknown, "BDark", "B is Unknown (BDark); C is Unknown (CDark)"),
		},
		{
			name: "one is absent", conditions: []metav1.Condition{good("A")}, types: []string{"A", "B"},
			want: condition("Ready", metav1.ConditionUnknown, "NotReported", "B is Unknown (NotReported)"),
		},
		{
			name: "one is of an earlier generation", conditions: []metav1.Condition{old(good("A"))}, types: []string{"A"},
			want: condition("Ready", metav1.ConditionUnknown, "NotReported", "A is Unknown (NotReported): the condition is of generation 2"),
		},
		{
			name:       "one does not say of which generation it is",
			conditions: []metav1.Condition{{Type: "A", Status: metav1.ConditionTrue}}, types: []string{"A"},
			want: condition("Ready", metav1.ConditionTrue, "Ready", "A is True"),
		},
		{
			name: "no condition is reported", want: condition("Ready", metav1.ConditionUnknown, "NotReported", "no condition is reported"),
		},
		{
			name: "it does not go by itself", conditions: []metav1.Condition{good("A"), bad("Ready")}, types: []string{"Ready", "A"},
			want: condition("Ready", metav1.ConditionTrue, "Ready", "A is True: all is well"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			status.For(withGeneration(3)).Ready(&test.conditions, test.types...)
			require.Empty(t, cmp.Diff(test.want, *meta.FindStatusCondition(test.conditions, "Ready"), ignoreTime))
		})
	}
}
