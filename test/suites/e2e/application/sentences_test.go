package application_test

import "testing"

func TestSentences(t *testing.T) {
	process := start(t)
	tests.TestSentences(t, process, func(t *testing.T, namespace, reason string) (name, message string) {
		s := scene{operator: process, namespace: namespace, name: "shop"}
		s.create(t)
		return s.name, s.waitForReason(t, reason).Message
	})
}
