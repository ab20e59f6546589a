package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// helperVariable has the test binary build the sample program of a checkout and cache
// instead of testing: ROOT:CACHE.
const helperVariable = "TRUEUP_BINARIES_TEST_HELPER"

func TestMain(m *testing.M) {
	root, cache, asked := strings.Cut(os.Getenv(helperVariable), ":")
	if !asked {
		os.Exit(m.Run())
	}
	b := &builder{root: root, cache: cache, progress: os.Stderr}
	if _, err := b.build(context.Background(), sample, sample.programs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sample is a module of a repository that newSample makes.
var sample = module{
	name: "sample", dir: "tools/sample", version: "example.org/sample",
	sources: []string{"go.mod", "*.go"},
	programs: []program{
		{name: "greeter", pkg: "example.org/tools/hello/v2", release: "example.org/sample"},
		{name: "other", pkg: "example.org/tools/other"},
	},
}

const sampleModule = `module example.org/tools

go 1.26

require (
	example.org/sample v1.36.3 // indirect
)

replace example.org/sample => example.org/other v0.1.0
`

const sampleProgram = `package main

var version = "none"

func main() { println("hello from " + version) }
`

// newSample makes a checkout and a cache.
func newSample(t *testing.T, gomod string) *builder {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, sample.dir)
	for path, content := range map[string]string{
		"go.mod": gomod, "hello/v2/main.go": sampleProgram, "other/main.go": sampleProgram,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o644))
	}
	return &builder{root: root, cache: t.TempDir(), progress: io.Discard}
}

// requireWhole runs the sample program.
func requireWhole(t *testing.T, program string) {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "hello from v1.36.3\n", string(said))
}

func TestBuild(t *testing.T) {
	b := newSample(t, sampleModule)
	var progress bytes.Buffer
	b.progress = &progress
	paths, err := b.build(t.Context(), sample, sample.programs)
	require.NoError(t, err)
	requireWhole(t, paths["greeter"])
	require.FileExists(t, paths["other"])
	require.Regexp(t, `^building greeter, other\n(  [12] of 2: (greeter|other), after \S+s\n){2}$`, progress.String())

	again, err := b.build(t.Context(), sample, sample.programs)
	require.NoError(t, err)
	require.Equal(t, paths, again)
	require.Equal(t, 3, strings.Count(progress.String(), "\n"), "nothing more was built")
}

// TestOnlyWhatIsNeeded: only requested programs are built, and others are added later.
func TestOnlyWhatIsNeeded(t *testing.T) {
	b := newSample(t, sampleModule)
	paths, err := b.build(t.Context(), sample, sample.named([]Program{"other"}))
	require.NoError(t, err)
	require.Len(t, paths, 1)
	require.NoFileExists(t, filepath.Join(filepath.Dir(paths["other"]), "greeter"))
	before, err := os.Stat(paths["other"])
	require.NoError(t, err)

	all, err := b.build(t.Context(), sample, sample.programs)
	require.NoError(t, err)
	requireWhole(t, all["greeter"])
	after, err := os.Stat(paths["other"])
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "it was built again")
}

// TestTwoBuildsThroughLinks: three builds at once, one with the cache, one with a link to the
// cache, one with a cache that links only to its folders.
func TestTwoBuildsThroughLinks(t *testing.T) {
	first := newSample(t, sampleModule)
	folder, err := sample.folder(first.root)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(first.cache, folder), 0o755))

	second, third := newSample(t, sampleModule), newSample(t, sampleModule)
	second.cache = filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(first.cache, second.cache))
	require.NoError(t, os.Symlink(filepath.Join(first.cache, folder), filepath.Join(third.cache, folder)))

	var progress [3]bytes.Buffer
	var group sync.WaitGroup
	for i, b := range []*builder{first, second, third} {
		b.progress = &progress[i]
		group.Go(func() {
			paths, err := b.build(t.Context(), sample, sample.programs)
			if err != nil {
				t.Error(err)
				return
			}
			requireWhole(t, paths["greeter"])
		})
	}
	group.Wait()
	all := progress[0].String() + progress[1].String() + progress[2].String()
	require.Equal(t, 1, strings.Count(all, "building"), all)
	requireNothingUnfinished(t, first)
}

// TestKilledBuild: a builder is killed while its go command writes a program. The go command still
// runs for a while; the next build begins only after its end, and leaves only complete programs.
func TestKilledBuild(t *testing.T) {
	b := newSample(t, sampleModule)
	stub := hangingGo(t)
	killed := exec.CommandContext(t.Context(), os.Args[0])
	killed.Env = append(os.Environ(), helperVariable+"="+b.root+":"+b.cache, "PATH="+stub+":"+os.Getenv("PATH"))
	require.NoError(t, killed.Start())
	half := filepath.Join(b.cache, "*", scratch+"*", "v2")
	var written []string
	require.Eventually(t, func() bool {
		written, _ = filepath.Glob(half)
		return len(written) == 1
	}, time.Minute, time.Millisecond)
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait())

	impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := b.build(impatient, sample, sample.programs)
	require.ErrorIs(t, err, context.DeadlineExceeded, "the orphaned go command is still writing")

	endHangingGo(t, stub)
	paths, err := b.build(t.Context(), sample, sample.programs)
	require.NoError(t, err)
	requireWhole(t, paths["greeter"])
	requireNothingUnfinished(t, b)
}

// hangingGo returns a folder with a go command that builds half a program and then hangs,
// until endHangingGo.
func hangingGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	whole, err := exec.LookPath("go")
	require.NoError(t, err)
	script := `#!/bin/sh
[ "$1" = build ] || exec "` + whole + `" "$@"
echo $$ > "` + dir + `/pid"
while [ "$1" != -o ]; do shift; done
echo half > "$2/v2"
while :; do read -r line < "` + dir + `/never"; done
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "never"), 0o600))
	return dir
}

func endHangingGo(t *testing.T, dir string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "pid"))
	require.NoError(t, err)
	var pid int
	_, err = fmt.Sscan(string(content), &pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

func requireNothingUnfinished(t *testing.T, b *builder) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(b.cache, "*", scratch+"*"))
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestInterruptedBuild(t *testing.T) {
	b := newSample(t, sampleModule)
	stub := hangingGo(t)
	t.Setenv("PATH", stub+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	failed := make(chan error)
	go func() {
		_, err := b.build(ctx, sample, sample.programs)
		failed <- err
	}()
	require.Eventually(t, func() bool {
		written, _ := filepath.Glob(filepath.Join(b.cache, "*", scratch+"*", "v2"))
		return len(written) == 1
	}, time.Minute, time.Millisecond)
	cancel(interrupted)
	require.Error(t, <-failed)
	requireNothingUnfinished(t, b)
}

func TestFailedBuildIsNotUsed(t *testing.T) {
	b := newSample(t, sampleModule)
	broken := filepath.Join(b.root, sample.dir, "hello", "v2", "broken.go")
	require.NoError(t, os.WriteFile(broken, []byte("package main\n\nvar x int = true\n"), 0o644))
	_, err := b.build(t.Context(), sample, sample.programs)
	require.ErrorContains(t, err, "cannot build the programs of tools/sample")
	require.ErrorContains(t, err, "broken.go:3")
	requireNothingUnfinished(t, b)

	require.NoError(t, os.Remove(broken))
	paths, err := b.build(t.Context(), sample, sample.programs)
	require.NoError(t, err)
	requireWhole(t, paths["greeter"])
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
	m := sample
	m.flags = "-X a=VERSION -X b=MAJOR -X c=MINOR"
	flags, err := m.linkerFlags(newSample(t, sampleModule).root, m.programs)
	require.NoError(t, err)
	require.Equal(t, []string{
		"-ldflags=-s -w -X a=v1.36.3 -X b=1 -X c=36",
		"-ldflags=example.org/tools/hello/v2=-s -w -X a=v1.36.3 -X b=1 -X c=36 -X main.version=v1.36.3",
	}, flags)
}
