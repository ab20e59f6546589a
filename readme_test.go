package trueup_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeShowsWhatIsCompiled compares the README's reconciler with the one that
// this package's example runs.
func TestReadmeShowsWhatIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("reconciler_test.go")
	require.NoError(t, err)
	_, reconciler, found := strings.Cut(string(source), "package trueup_test\n\n")
	require.True(t, found)
	require.Contains(t, string(readme), "```go\n"+reconciler+"```\n",
		"README.md and reconciler_test.go differ: copy the one that is right")
}
