package supervisor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster/internal/supervisor"
)

func TestLaunchOfSomethingElse(t *testing.T) {
	for program, reason := range map[string]string{
		"/no/such/program": "cannot start the supervisor",
		"/bin/false":       "exit status 1",
		"/bin/true":        "cannot hear the supervisor",
	} {
		_, err := supervisor.Launch(program, "")
		require.ErrorContains(t, err, reason)
	}
}
