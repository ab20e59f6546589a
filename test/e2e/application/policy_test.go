package application_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPolicysSentence is where people look: in the condition and in the log.
func TestAPolicysSentence(t *testing.T) {
	process := start(t)
	s := scene{operator: process, namespace: shared.Namespace(t), name: "shop"}
	const sentence = "every Deployment needs a label team, ask platform@example.com"
	tests.RefuseDeployments(t, s.namespace, sentence)
	s.create(t)
	require.Contains(t, s.waitForReason(t, "Invalid").Message, "denied request: "+sentence)
	eventually(t, func(context.Context) error {
		warnings := strings.Join(tests.Warnings(t, s.namespace, s.name, "Invalid"), "\n")
		return expect(strings.Contains(warnings, sentence) && strings.Contains(process.Log(), sentence), "the events say %q", warnings)
	})
}
