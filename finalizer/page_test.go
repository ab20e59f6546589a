package finalizer_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPageShowsWhatIsCompiled compares the package page's reconciler with the one that
// the package's example runs.
func TestPageShowsWhatIsCompiled(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	source, err := os.ReadFile("reconciler_test.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "func (r *Reconciler)")
	require.True(t, found)
	var shown strings.Builder
	for line := range strings.Lines("func (r *Reconciler)" + code) {
		shown.WriteString("//\t" + line)
	}
	require.Contains(t, string(page), shown.String(), "doc.go and reconciler_test.go differ: copy the one that is right")
}
