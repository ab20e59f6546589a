package broken_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/trials/chaos/broken"
)

// TestPatches applies all patches, and builds what they change in its long form. Patches of a function that changes have to
// follow.
func TestPatches(t *testing.T) {
	names, err := broken.Names()
	require.NoError(t, err)
	require.Len(t, names, 5)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkout := filepath.Join(t.TempDir(), "checkout")
			require.NoError(t, broken.Patch(t.Context(), name, checkout))
			if testing.Short() {
				return
			}
			build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "./ensure", "./finalizer")
			build.Dir, build.Env = checkout, append(os.Environ(), "GOWORK=off")
			out, err := build.CombinedOutput()
			require.NoError(t, err, string(out))
		})
	}
	require.ErrorContains(t, broken.Patch(t.Context(), "nothing", t.TempDir()), "no broken build \"nothing\"")
}
