package walkthrough

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/moduleproxy"
	"github.com/trueup-go/trueup/test/harness/places"
)

const (
	// printLimit bounds the time until a command prints what the page says. It is usually a second or two.
	printLimit = 2 * time.Minute
	// makeRun is the command that runs the operator until the user stops it, the last one of a block.
	makeRun = "make run\n"
)

// A Reader follows a page at a shell.
type Reader struct {
	// MakeRun replaces `make run`, which does not end by itself.
	MakeRun func(ctx context.Context) error

	// home has everything of the reader, and dir is the working directory of the shell.
	home, dir   string
	environment []string
	// last is the last command.
	last string

	release     string
	moduleCache string
}

// NewReader returns a reader in the folder home, who has kubectl, and kubebuilder in the version of a folder of tools/. For the
// reader, this checkout is the latest release of the library and of the command. Call Close in the end.
func NewReader(ctx context.Context, home, kubebuilder string) (*Reader, error) {
	r := &Reader{home: home, dir: home}
	root, err := places.Repository()
	if err != nil {
		return nil, err
	}
	programs, err := r.install(ctx, filepath.Join(root, "tools", kubebuilder))
	if err != nil {
		return nil, err
	}
	settings := []string{"GOPROXY", "GONOSUMDB", "GOMODCACHE", "GOCACHE", "GOPATH", "GOENV"}
	printed, err := output(ctx, root, "go", append([]string{"env"}, settings...)...)
	if err != nil {
		return nil, err
	}
	values := strings.Split(printed, "\n")
	if len(values) != len(settings) {
		return nil, fmt.Errorf("go env prints %q", printed)
	}
	r.moduleCache = values[2]
	proxy := filepath.Join(home, "proxy")
	if r.release, err = moduleproxy.Release(proxy, root); err != nil {
		return nil, fmt.Errorf("cannot make a module proxy of the checkout: %w", err)
	}
	r.environment = append(withoutMake(os.Environ()),
		// The go command keeps its folders: a new home would have empty caches.
		"HOME="+home, "XDG_CONFIG_HOME=",
		"GOMODCACHE="+values[2], "GOCACHE="+values[3], "GOPATH="+values[4], "GOENV="+values[5],
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+r.Kubeconfig(),
		"GOWORK=off",
		"GOPROXY=file://"+proxy+","+values[0],
		"GONOSUMDB="+strings.TrimPrefix(values[1]+","+moduleproxy.Library, ","),
	)
	return r, nil
}

// install returns a folder with kubebuilder and kubectl.
func (r *Reader) install(ctx context.Context, kubebuilder string) (string, error) {
	programs := filepath.Join(r.home, "programs")
	if err := os.Mkdir(programs, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(programs, "kubebuilder")
	if _, err := output(ctx, kubebuilder, "go", "build", "-o", program, "sigs.k8s.io/kubebuilder/v4"); err != nil {
		return "", err
	}
	kubectl, err := cluster.Kubectl(ctx)
	if err != nil {
		return "", err
	}
	return programs, os.Symlink(kubectl, filepath.Join(programs, "kubectl"))
}

// withoutMake removes the variables of a make that runs the tests.
func withoutMake(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS=")
	})
}

// Close removes what the go command keeps of the reader's release.
func (r *Reader) Close() error { return moduleproxy.Forget(r.moduleCache, r.release) }

// Dir returns the working directory.
func (r *Reader) Dir() string { return r.dir }

// Home returns the folder that has everything of the reader.
func (r *Reader) Home() string { return r.home }

// Kubeconfig returns the path where the reader's kubectl expects a kubeconfig.
func (r *Reader) Kubeconfig() string { return filepath.Join(r.home, "kubeconfig") }

// Follow does what the blocks say.
func (r *Reader) Follow(ctx context.Context, blocks []Block) error {
	for i := range blocks {
		if err := r.follow(ctx, &blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) follow(ctx context.Context, b *Block) error {
	switch b.Does {
	case Runs:
		return r.runCommands(ctx, b.Text)
	case Prints:
		return r.expect(ctx, b.Text)
	default:
		return r.write(b)
	}
}

// runCommands executes a block of commands.
func (r *Reader) runCommands(ctx context.Context, commands string) error {
	commands, isRun := strings.CutSuffix(commands, makeRun)
	if commands != "" {
		if err := r.Execute(ctx, commands); err != nil {
			return err
		}
		lines := strings.Split(strings.TrimSpace(commands), "\n")
		r.last = lines[len(lines)-1]
	}
	if isRun {
		return r.MakeRun(ctx)
	}
	return nil
}

// Execute runs commands, which may change the working directory. An error quotes their output.
func (r *Reader) Execute(ctx context.Context, commands string) error {
	printed, err := r.shell(ctx, commands)
	if err != nil {
		return fmt.Errorf("%w of:\n%s\n%s", err, commands, printed)
	}
	return nil
}

// expect runs the last command until it prints the text.
func (r *Reader) expect(ctx context.Context, text string) error {
	return await.Until(ctx, printLimit, func(ctx context.Context) error {
		printed, err := r.shell(ctx, r.last)
		if err != nil {
			return fmt.Errorf("%w of:\n%s\n%s", err, r.last, printed)
		}
		if strings.TrimSpace(printed) != strings.TrimSpace(text) {
			return fmt.Errorf("%s prints:\n%s\ninstead of:\n%s", r.last, printed, text)
		}
		return nil
	})
}

// shell runs commands in the working directory.
func (r *Reader) shell(ctx context.Context, commands string) (string, error) {
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
func (r *Reader) write(b *Block) error {
	path := filepath.Join(r.dir, b.Path)
	var before []byte
	if b.Does == Continues || b.Does == Replaces || b.Does == Changes {
		var err error
		if before, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	after, err := b.Apply(string(before))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(after), 0o644) //nolint:gosec // source code
}

// output returns the trimmed output of a command.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	process := exec.CommandContext(ctx, program, args...)
	process.Dir = dir
	process.Env = append(os.Environ(), "GOWORK=off")
	printed, err := process.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(printed)), nil
}
