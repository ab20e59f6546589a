package binaries

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample is a module of a repository that newSample makes.
var sample = module{name: "sample", dir: "tools/sample", version: "example.org/sample", sources: []string{"go.mod"}}

func newSample(t *testing.T, gomod string) *builder {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, sample.dir)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(gomod), 0o644))
	return &builder{root: root, cache: t.TempDir(), progress: io.Discard}
}

const sampleModule = `module example.org/tools

require (
	example.org/sample v1.36.3 // indirect
)

replace example.org/sample => example.org/other v0.1.0
`

func TestOneOfManyBuilds(t *testing.T) {
	shared := newSample(t, sampleModule)
	var builds atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			b := *shared
			path := b.once(t.Context(), sample, "program", func(path string, _ *os.File) error {
				builds.Add(1)
				return os.WriteFile(path, []byte("whole"), 0o755)
			})
			content, err := os.ReadFile(path)
			if err != nil || b.err != nil || string(content) != "whole" {
				t.Errorf("read %q from %q: %v, %v", content, path, err, b.err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, builds.Load())
}

func TestFailedBuildIsNotUsed(t *testing.T) {
	b := newSample(t, sampleModule)
	failure := errors.New("half-way")
	b.once(t.Context(), sample, "program", func(path string, _ *os.File) error {
		return errors.Join(os.WriteFile(path, []byte("half"), 0o755), failure)
	})
	require.ErrorIs(t, b.err, failure)

	b.err = nil
	path := b.once(t.Context(), sample, "program", func(path string, _ *os.File) error {
		return os.WriteFile(path, []byte("whole"), 0o755)
	})
	require.NoError(t, b.err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "whole", string(content))
}

func TestFolderFollowsWhatDecides(t *testing.T) {
	folder := func(gomod string, m module) string {
		name, err := m.folder(newSample(t, gomod).root)
		require.NoError(t, err)
		return name
	}
	same := folder(sampleModule, sample)
	require.Regexp(t, `^sample-v1\.36\.3-[0-9a-f]{12}$`, same)
	require.Equal(t, same, folder(sampleModule, sample), "the checkout's place does not count")
	require.NotEqual(t, same, folder(sampleModule+"// changed\n", sample))
	flagged := sample
	flagged.flags = "-X changed"
	require.NotEqual(t, same, folder(sampleModule, flagged))
}

func TestVersionMustBeRequired(t *testing.T) {
	_, err := sample.folder(newSample(t, "module example.org/tools\n").root)
	require.ErrorContains(t, err, "cannot find example.org/sample")
}

func TestLinkerFlagsStampTheVersion(t *testing.T) {
	m := module{flags: "-X a=VERSION -X b=MAJOR -X c=MINOR"}
	require.Equal(t, "-s -w -X a=v1.36.3 -X b=1 -X c=36", m.linkerFlags("v1.36.3"))
}
