package status_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// long ago is when conditions of fixtures flipped last.
var longAgo = metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))

func withGeneration(generation int64) *Shop {
	return &Shop{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
}

func condition(conditionType string, value metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{
		Type: conditionType, Status: value, Reason: reason, Message: message, ObservedGeneration: 3, LastTransitionTime: longAgo,
	}
}

var ignoreTime = cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")

func TestSetterWritesItsConditionAndNoOther(t *testing.T) {
	theirs := metav1.Condition{Type: "Theirs", Status: "Odd", Reason: "not one", LastTransitionTime: longAgo}
	conditions := []metav1.Condition{theirs}
	set := status.For(withGeneration(3))

	set.True(&conditions, "Open", "Opened", "the doors are open")
	set.False(&conditions, "Stocked", "Empty", "nothing is left")
	set.Unknown(&conditions, "Staffed", "NotAsked", "")

	require.Empty(t, cmp.Diff([]metav1.Condition{
		theirs,
		condition("Open", metav1.ConditionTrue, "Opened", "the doors are open"),
		condition("Stocked", metav1.ConditionFalse, "Empty", "nothing is left"),
		condition("Staffed", metav1.ConditionUnknown, "NotAsked", ""),
	}, conditions, ignoreTime))
}

func TestLastTransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	conditions := []metav1.Condition{condition("Open", metav1.ConditionTrue, "Opened", "")}

	status.For(withGeneration(7)).True(&conditions, "Open", "StillOpen", "since morning")
	want := condition("Open", metav1.ConditionTrue, "StillOpen", "since morning")
	want.ObservedGeneration = 7
	require.Empty(t, cmp.Diff([]metav1.Condition{want}, conditions))

	status.For(withGeneration(7)).False(&conditions, "Open", "StillOpen", "since morning")
	require.True(t, conditions[0].LastTransitionTime.After(longAgo.Time))
}

func TestSetterKeepsTheGenerationThatItSaw(t *testing.T) {
	shop := withGeneration(3)
	set := status.For(shop)
	shop.Generation = 4

	set.True(&shop.Status.Conditions, "Open", "Opened", "")
	require.EqualValues(t, 3, shop.Status.Conditions[0].ObservedGeneration)
}

func TestSetterHarmsNobodyWithoutListOrObject(t *testing.T) {
	set := status.For(nil)
	set.True(nil, "Open", "Opened", "")
	set.Ready(nil, "Open")

	var shop *Shop
	var conditions []metav1.Condition
	status.For(shop).True(&conditions, "Open", "Opened", "")
	require.Zero(t, conditions[0].ObservedGeneration)
}

func TestIllFormedTypeIsLeftForTheServerToRefuse(t *testing.T) {
	var conditions []metav1.Condition
	status.For(withGeneration(1)).True(&conditions, "no type", "Opened", "")
	require.Equal(t, "no type", conditions[0].Type)
}

func TestChild(t *testing.T) {
	var conditions []metav1.Condition
	set := status.For(withGeneration(3))
	set.Child(&conditions, "Web", readiness.Readiness{State: readiness.Ready, Message: "2 of 2 pods are available"})
	set.Child(&conditions, "Store", readiness.Readiness{State: readiness.Failed, Message: "it has lost its volume"})
	set.Child(&conditions, "App", readiness.Readiness{State: readiness.InProgress, Reason: "ImagePullBackOff", Message: "container web waits"})

	require.Empty(t, cmp.Diff([]metav1.Condition{
		condition("Web", metav1.ConditionTrue, "Ready", "2 of 2 pods are available"),
		condition("Store", metav1.ConditionFalse, "Failed", "it has lost its volume"),
		condition("App", metav1.ConditionFalse, "ImagePullBackOff", "container web waits"),
	}, conditions, ignoreTime))
}

func TestReasons(t *testing.T) {
	for _, test := range []struct {
		name, reason, message   string
		wantReason, wantMessage string
	}{
		{name: "a good one stays", reason: "Rule_1:a,b", message: "m", wantReason: "Rule_1:a,b", wantMessage: "m"},
		{name: "one of one letter stays", reason: "x", wantReason: "x"},
		{name: "there is none", message: "m", wantReason: "Unspecified", wantMessage: "m"},
		{
			name: "words are joined", reason: "image pull back-off", message: "m",
			wantReason: "imagePullBackOff", wantMessage: `reason "image pull back-off": m`,
		},
		{name: "it cannot begin with a digit", reason: "3Strikes", wantReason: "Strikes", wantMessage: `reason "3Strikes"`},
		{name: "it cannot begin with an underscore", reason: "_a", wantReason: "a", wantMessage: `reason "_a"`},
		{name: "it cannot end in a comma", reason: "A,:", wantReason: "A", wantMessage: `reason "A,:"`},
		{name: "other scripts go", reason: "Größe", wantReason: "GrE", wantMessage: `reason "Größe"`},
		{name: "nothing is left", reason: "?!", wantReason: "Unspecified", wantMessage: `reason "?!"`},
		{name: "a line break after a good one", reason: "A\n", wantReason: "A", wantMessage: `reason "A\n"`},
		{
			name: "it is too long", reason: strings.Repeat("a", 1023) + ":b", message: "m",
			wantReason: strings.Repeat("a", 1023), wantMessage: `reason "` + strings.Repeat("a", 1023) + `:b": m`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var conditions []metav1.Condition
			status.For(withGeneration(3)).False(&conditions, "Open", test.reason, test.message)
			require.Empty(t, cmp.Diff([]metav1.Condition{
				condition("Open", metav1.ConditionFalse, test.wantReason, test.wantMessage),
			}, conditions, ignoreTime))
		})
	}
}

func TestMessagesAreCutBetweenCharacters(t *testing.T) {
	const limit = 32768
	for _, test := range []struct {
		name, message string
		want          string
	}{
		{name: "the longest", message: strings.Repeat("m", limit), want: strings.Repeat("m", limit)},
		{name: "one more", message: strings.Repeat("m", limit+1), want: strings.Repeat("m", limit-3) + "…"},
		{name: "of two bytes each", message: strings.Repeat("ö", limit), want: strings.Repeat("ö", limit/2-2) + "…"},
		{name: "of four bytes each", message: strings.Repeat("🎈", limit), want: strings.Repeat("🎈", limit/4-1) + "…"},
		{name: "no UTF-8", message: "a\xffb", want: "a\uFFFDb"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var conditions []metav1.Condition
			status.For(withGeneration(3)).True(&conditions, "Open", "Opened", test.message)
			require.Empty(t, cmp.Diff(test.want, conditions[0].Message))
			require.LessOrEqual(t, len(conditions[0].Message), limit)
		})
	}
}

// FuzzReason has the API's own validation judge whatever is set.
func FuzzReason(f *testing.F) {
	for _, reason := range []string{"", "Good", "not good", "3", "_", "a,", "ÖÄ", "\xff", strings.Repeat("a:", 600)} {
		f.Add(reason, "message")
	}
	f.Add("Good", strings.Repeat("🎈", 10_000))
	f.Fuzz(func(t *testing.T, reason, message string) {
		var conditions []metav1.Condition
		set := status.For(withGeneration(3))
		set.False(&conditions, "Open", reason, message)
		require.Empty(t, validation.ValidateConditions(conditions, field.NewPath("conditions")))
		require.True(t, utf8.ValidString(conditions[0].Message))
		if reason == conditions[0].Reason || reason == "" {
			require.True(t, strings.HasPrefix(strings.ToValidUTF8(message, "\uFFFD"), strings.TrimSuffix(conditions[0].Message, "…")) ||
				conditions[0].Message == message)
		} else {
			require.True(t, strings.HasPrefix(conditions[0].Message, `reason "`), conditions[0].Message)
		}

		again := append([]metav1.Condition{}, conditions...)
		set.False(&again, "Open", conditions[0].Reason, conditions[0].Message)
		require.Empty(t, cmp.Diff(conditions, again), "what is well-formed stays")
	})
}
