package trueup_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeShowsWhatIsCompiled compares the README's reconciler and its test with those that this package runs. In the
// README, they are in kubebuilder's packages.
func TestReadmeShowsWhatIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	here := strings.NewReplacer("package controller\n", "package trueup_test\n", "\twebv1 \"example.com/website/api/v1\"\n", "", "webv1.", "")
	shown := here.Replace(string(readme))
	for _, file := range []string{"reconciler_test.go", "converge_test.go"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, shown, "```go\n"+string(source)+"```\n", "README.md and %s differ: copy the one that is right", file)
	}
}
