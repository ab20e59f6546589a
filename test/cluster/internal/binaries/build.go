package binaries

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/trueup-go/trueup/test/internal/filelock"
)

// assetsVariable names the folder of ready-made programs, by the custom of
// controller-runtime's envtest.
const assetsVariable = "KUBEBUILDER_ASSETS"

// scratch is how the names of unfinished builds begin.
const scratch = ".unfinished-"

// builder finds and builds programs. After the first error its methods do
// nothing.
type builder struct {
	root     string
	cache    string
	progress io.Writer
	err      error
}

func newBuilder(progress io.Writer) (*builder, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	return &builder{root: root, cache: cache, progress: progress}, nil
}

// asset is the path of p in the folder of ready-made programs, or else as built.
func (b *builder) asset(ctx context.Context, p program) string {
	assets := os.Getenv(assetsVariable)
	if assets == "" {
		return b.program(ctx, p)
	}
	path, err := filepath.Abs(filepath.Join(assets, p.name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		b.fail(fmt.Errorf("cannot find %s in %s: %w", p.name, assetsVariable, err))
	}
	return path
}

// program is the path of p, which is built if it is not there.
func (b *builder) program(ctx context.Context, p program) string {
	return b.once(ctx, p.module, p.name, func(path string, lock *os.File) error {
		fmt.Fprintf(b.progress, "building %s", p.name)
		if p.comment != "" {
			fmt.Fprintf(b.progress, " (%s)", p.comment)
		}
		start := time.Now()
		if err := b.build(ctx, p, path, lock); err != nil {
			fmt.Fprintln(b.progress)
			return fmt.Errorf("cannot build %s: %w", p.name, err)
		}
		fmt.Fprintf(b.progress, ": %s\n", time.Since(start).Round(time.Second/10))
		return nil
	})
}

// stages is the path of the file of stages, copied from kwok's own.
func (b *builder) stages(ctx context.Context) string {
	return b.once(ctx, kwokModule, "stages.yaml", func(path string, lock *os.File) error {
		stages, err := b.readStages(ctx, lock)
		if err != nil {
			return fmt.Errorf("cannot find kwok's stages: %w", err)
		}
		return os.WriteFile(path, stages, 0o644)
	})
}

// createFunc makes the file path. Processes that it starts inherit the lock, so
// that it outlasts a killed builder until they, too, have stopped writing.
type createFunc func(path string, lock *os.File) error

// once is the path of a file in m's folder of the cache. If the file is not
// there, it is made elsewhere first and moved when it is complete, while no
// other process makes one.
func (b *builder) once(ctx context.Context, m module, name string, create createFunc) string {
	if b.err != nil {
		return ""
	}
	folder, err := m.folder(b.root)
	if err != nil {
		return b.fail(err)
	}
	final := filepath.Join(b.cache, folder, name)
	if _, err := os.Stat(final); err == nil {
		return final
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(b.cache, "build.lock"))
	if err != nil {
		return b.fail(err)
	}
	defer lock.Release()
	if _, err := os.Stat(final); err == nil {
		return final
	}
	if err := publish(final, func(path string) error { return create(path, lock.File) }); err != nil {
		return b.fail(err)
	}
	return final
}

// publish has create make a file, and moves it to its place.
func publish(final string, create func(path string) error) error {
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return fmt.Errorf("cannot create the cache: %w", err)
	}
	unfinished := filepath.Join(filepath.Dir(final), scratch+filepath.Base(final))
	if err := create(unfinished); err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	if err := os.Rename(unfinished, final); err != nil {
		return fmt.Errorf("cannot move a build to its place: %w", err)
	}
	return nil
}

// fail keeps the first error.
func (b *builder) fail(err error) string {
	if b.err == nil {
		b.err = err
	}
	return ""
}

// build compiles p to the file path. The module's own files decide what goes
// in: no workspace, no C compiler unless the tests use it, no state of the
// working copy.
func (b *builder) build(ctx context.Context, p program, path string, lock *os.File) error {
	flags := p.module.flags
	if p.module.version != "" {
		version, err := p.module.required(b.root)
		if err != nil {
			return err
		}
		flags = p.module.linkerFlags(version)
	}
	args := []string{"build", "-buildvcs=false", "-ldflags", flags, "-o", path}
	if !p.module.tested {
		args = append(args, "-trimpath")
	}
	_, err := b.goCommand(ctx, lock, p.module, append(args, p.pkg)...)
	return err
}

// readStages are the fast stages of nodes and pods, from kwok's module.
func (b *builder) readStages(ctx context.Context, lock *os.File) ([]byte, error) {
	answer, err := b.goCommand(ctx, lock, kwokModule, "mod", "download", "-json", kwokModule.version)
	if err != nil {
		return nil, err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(answer, &downloaded); err != nil {
		return nil, fmt.Errorf("cannot read the answer of go mod download: %w", err)
	}
	var stages bytes.Buffer
	for _, name := range []string{"node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-complete", "pod/fast/pod-delete"} {
		content, err := os.ReadFile(filepath.Join(downloaded.Dir, "kustomize", "stage", name+".yaml"))
		if err != nil {
			return nil, fmt.Errorf("cannot read a stage: %w", err)
		}
		stages.Write(content)
		stages.WriteString("---\n")
	}
	return stages.Bytes(), nil
}

// goCommand runs the go command in m's folder and returns its output.
func (b *builder) goCommand(ctx context.Context, lock *os.File, m module, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, m.dir)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if !m.tested {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	cmd.ExtraFiles = []*os.File{lock}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return output, nil
}
