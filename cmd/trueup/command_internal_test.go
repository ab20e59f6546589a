package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// The help names the command as people call it.
func TestNameOfTheCommand(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"/usr/bin/trueup":         "\n  trueup explain (TYPE/NAME |",
		"/usr/bin/kubectl-trueup": "\n  kubectl trueup explain (TYPE/NAME |",
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		command := newCommand(program, streams)
		command.SetArgs([]string{"explain", "--help"})
		require.NoError(t, command.Execute())
		require.Contains(t, out.String(), want, program)
	}
}
