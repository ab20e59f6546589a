package trueup_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeShowsWhatIsCompiled compares the functions of the README with those that this package runs. In the README, the
// custom resource is in a package of its own.
func TestReadmeShowsWhatIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("reconciler_test.go")
	require.NoError(t, err)
	functions := 0
	for _, block := range goBlock.FindAllStringSubmatch(string(readme), -1) {
		for function := range strings.SplitSeq(strings.ReplaceAll(block[1], "webv1.", ""), "\n}\n") {
			if function = strings.TrimSpace(function); function != "" {
				functions++
				require.Contains(t, string(source), "\n"+function+"\n}\n", "README.md and reconciler_test.go differ: copy the one that is right")
			}
		}
	}
	require.NotZero(t, functions, "the functions are no longer found")
}
