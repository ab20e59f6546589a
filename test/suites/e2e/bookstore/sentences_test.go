package bookstore_test

import (
	"testing"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

func TestSentences(t *testing.T) {
	process := start(t)
	tests.TestSentences(t, process, func(t *testing.T, namespace, reason string) (name, message string) {
		s := scene{operator: process, namespace: namespace, name: "shop"}
		s.create(t)
		return s.name, s.waitForReason(t, v1alpha1.AppReadyCondition, reason).Message
	})
}
