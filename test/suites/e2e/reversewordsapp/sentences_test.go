package reversewordsapp_test

import (
	"testing"

	"github.com/trueup-go/trueup/test/harness/longform"
)

func TestSentences(t *testing.T) {
	longform.Only(t)
	process := start(t)
	tests.TestSentences(t, process, func(t *testing.T, namespace, reason string) (name, message string) {
		f := fixture{operator: process, namespace: namespace, name: "shop"}
		f.create(t)
		return f.name, f.waitForReason(t, reason).Message
	})
}
