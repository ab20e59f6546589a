package tutorial_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/places"
)

// limit bounds waits that usually take a second or two.
const limit = 2 * time.Minute

// makeRun is the command that runs the operator until the user stops it.
const makeRun = "make run\n"

// A reader follows the tutorial at a shell.
type reader struct {
	// home has everything of the reader, and dir is the working directory of the shell.
	home, dir   string
	environment []string
	// run replaces `make run`.
	run func(t *testing.T)
	// last is the last command.
	last string
}

// newReader returns a reader who has kubebuilder, kubectl and a module proxy with the library.
func newReader(t *testing.T) *reader {
	t.Helper()
	home := t.TempDir()
	r := &reader{home: home, dir: home}
	programs := filepath.Join(home, "programs")
	require.NoError(t, os.Mkdir(programs, 0o755))

	root, err := places.Repository()
	require.NoError(t, err)
	output(t, filepath.Join(root, "tools", "kubebuilder"), "go", "build", "-o", filepath.Join(programs, "kubebuilder"), "sigs.k8s.io/kubebuilder/v4")
	kubectl, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	require.NoError(t, os.Symlink(kubectl, filepath.Join(programs, "kubectl")))

	proxy := filepath.Join(home, "proxy")
	releaseCheckout(t, proxy, output(t, root, "go", "env", "GOMODCACHE"))
	r.environment = append(withoutMake(os.Environ()),
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+r.kubeconfig(),
		"GOWORK=off",
		"GOPROXY=file://"+proxy+","+output(t, root, "go", "env", "GOPROXY"),
		"GONOSUMDB="+strings.TrimPrefix(output(t, root, "go", "env", "GONOSUMDB")+","+library, ","),
	)
	return r
}

func (r *reader) kubeconfig() string { return filepath.Join(r.home, "kubeconfig") }

// withoutMake removes the variables of a make that runs the tests.
func withoutMake(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS=")
	})
}

// follow does what the blocks of the chapter say.
func (r *reader) follow(t *testing.T, c *chapter) {
	t.Helper()
	for i := range c.blocks {
		switch b := &c.blocks[i]; {
		case b.does == run && b.text == makeRun:
			r.run(t)
		case b.does == run:
			r.execute(t, b.text)
			lines := strings.Split(strings.TrimSpace(b.text), "\n")
			r.last = lines[len(lines)-1]
		case b.does == shows:
			r.expect(t, b.text)
		default:
			r.write(t, b)
		}
	}
}

// execute runs commands and requires that they succeed.
func (r *reader) execute(t *testing.T, commands string) {
	t.Helper()
	printed, err := r.shell(t.Context(), commands)
	require.NoError(t, err, "%s\n%s", commands, printed)
}

// expect runs the last command until it prints the text.
func (r *reader) expect(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, await.Until(t.Context(), limit, func(ctx context.Context) error {
		printed, err := r.shell(ctx, r.last)
		if err == nil && strings.TrimSpace(printed) != strings.TrimSpace(text) {
			err = fmt.Errorf("%s prints:\n%s", r.last, printed)
		}
		return err
	}))
}

// shell runs commands in the working directory, which the commands may change.
func (r *reader) shell(ctx context.Context, commands string) (string, error) {
	directory := filepath.Join(r.home, ".directory")
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", `eval "$0"; pwd >"$1"`, commands, directory)
	shell.Dir, shell.Env = r.dir, r.environment
	printed, err := shell.CombinedOutput()
	if err != nil {
		return string(printed), err
	}
	after, err := os.ReadFile(directory)
	r.dir = strings.TrimSpace(string(after))
	return string(printed), err
}

// write creates or changes a file.
func (r *reader) write(t *testing.T, b *block) {
	t.Helper()
	path := filepath.Join(r.dir, b.path)
	var before []byte
	if b.does != creates {
		var err error
		before, err = os.ReadFile(path)
		require.NoError(t, err)
	}
	after, err := b.apply(string(before))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(after), 0o644)) //nolint:gosec // source code
}

// output returns the trimmed output of a command.
func output(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	command.Stderr = os.Stderr
	printed, err := command.Output()
	require.NoError(t, err, "%s %s", program, strings.Join(args, " "))
	return strings.TrimSpace(string(printed))
}
