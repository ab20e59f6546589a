package trueup_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeShowsWhatIsCompiled compares the README's reconciler and its test with those that
// this package runs.
func TestReadmeShowsWhatIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for file, before := range map[string]string{"reconciler_test.go": "package trueup_test\n\n", "converge_test.go": ")\n\n"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		_, shown, found := strings.Cut(string(source), before)
		require.True(t, found)
		require.Contains(t, string(readme), "```go\n"+shown+"```\n", "README.md and %s differ: copy the one that is right", file)
	}
}
