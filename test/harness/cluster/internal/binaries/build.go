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
	"slices"
	"syscall"
	"time"

	"github.com/trueup-go/trueup/test/harness/filelock"
	"github.com/trueup-go/trueup/test/harness/places"
)

const (
	// scratch is how the names of folders of unfinished builds begin.
	scratch = ".unfinished-"
	// lockFile is the file that a builder locks in a module's folder. As the file is in the folder
	// itself, all paths to the folder share the lock.
	lockFile = "build.lock"
	// niceness is the priority of builds: low, so that whatever runs beside them does not wait.
	niceness = 10
	// stopLimit is how long an interrupted go command may take to end.
	stopLimit = 5 * time.Second
)

// A builder builds programs of a checkout into a cache.
type builder struct {
	root     string
	cache    string
	progress io.Writer
}

func newBuilder(progress io.Writer) (*builder, error) {
	root, err := places.Repository()
	if err != nil {
		return nil, err
	}
	cache, err := places.Cache()
	if err != nil {
		return nil, err
	}
	return &builder{root: root, cache: cache, progress: progress}, nil
}

// build returns the paths of the programs of m, and builds the missing ones.
func (b *builder) build(ctx context.Context, m module, programs []program) (Paths, error) {
	names := make([]string, len(programs))
	for i, p := range programs {
		names[i] = string(p.name)
	}
	dir, err := b.provide(ctx, m, names, func(dir string, missing []string, lock *os.File) error {
		wanted := slices.DeleteFunc(slices.Clone(programs), func(p program) bool {
			return !slices.Contains(missing, string(p.name))
		})
		return b.compile(ctx, m, wanted, dir, lock)
	})
	if err != nil {
		return nil, err
	}
	paths := Paths{}
	for _, p := range programs {
		paths[p.name] = filepath.Join(dir, string(p.name))
	}
	return paths, nil
}

// A createFunc creates the named files in the folder dir. The processes that it
// starts inherit lock, so that the lock outlasts a killed builder until they have
// ended, too.
type createFunc func(dir string, names []string, lock *os.File) error

// provide returns m's folder of the cache once the folder has the named files. It has create make
// the missing ones in a separate folder, and moves them to their place when they are complete. No
// other process creates any meanwhile.
func (b *builder) provide(ctx context.Context, m module, names []string, create createFunc) (string, error) {
	folder, err := m.folder(b.root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.cache, folder)
	if len(missing(dir, names)) == 0 {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot create the cache: %w", err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(dir, lockFile))
	if err != nil {
		return "", err
	}
	defer lock.Release()
	absent := missing(dir, names) // others may have built them while this waited
	if len(absent) == 0 {
		return dir, nil
	}
	return dir, publish(dir, absent, func(unfinished string) error { return create(unfinished, absent, lock.File) })
}

// missing returns the names of which dir holds no file.
func missing(dir string, names []string) []string {
	var absent []string
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			absent = append(absent, name)
		}
	}
	return absent
}

// publish has create make the named files in a folder inside dir, and moves them to dir. The
// remains of killed builds are removed: their locks are released, so they have ended.
func publish(dir string, names []string, create func(unfinished string) error) error {
	stale, err := filepath.Glob(filepath.Join(dir, scratch+"*"))
	if err != nil {
		return fmt.Errorf("cannot list unfinished builds: %w", err)
	}
	for _, folder := range stale {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("cannot remove an unfinished build: %w", err)
		}
	}
	unfinished, err := os.MkdirTemp(dir, scratch)
	if err != nil {
		return fmt.Errorf("cannot create the cache: %w", err)
	}
	if err := create(unfinished); err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(unfinished, name), filepath.Join(dir, name)); err != nil {
			return errors.Join(fmt.Errorf("cannot move a build to its place: %w", err), os.RemoveAll(unfinished))
		}
	}
	return os.RemoveAll(unfinished)
}

// compile builds the programs into dir with one go command, so that one program is
// linked while others are compiled. It builds with the environment's settings, as
// go test does: packages that programs and tests share are then compiled once.
func (b *builder) compile(ctx context.Context, m module, programs []program, dir string, lock *os.File) error {
	flags, err := m.linkerFlags(b.root, programs)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-buildvcs=false", "-o", dir + string(filepath.Separator)}, flags...)
	for _, p := range programs {
		args = append(args, p.pkg)
	}
	report := startReport(b.progress, dir, programs)
	_, err = b.goCommand(ctx, lock, m, args...)
	report.stop()
	if err != nil {
		return fmt.Errorf("cannot build the programs of %s: %w", m.dir, err)
	}
	for _, p := range programs {
		if err := os.Rename(filepath.Join(dir, p.output()), filepath.Join(dir, string(p.name))); err != nil {
			return fmt.Errorf("cannot name a program: %w", err)
		}
	}
	return nil
}

// Stages returns the path of a file of kwok stages, made of kwok's own files: how nodes and pods
// start, complete and end.
func Stages(ctx context.Context) (string, error) {
	b, err := newBuilder(io.Discard)
	if err != nil {
		return "", err
	}
	const name = "stages.yaml"
	dir, err := b.provide(ctx, clusterModule, []string{name}, func(dir string, _ []string, lock *os.File) error {
		stages, err := b.readStages(ctx, lock)
		if err != nil {
			return fmt.Errorf("cannot find kwok's stages: %w", err)
		}
		return os.WriteFile(filepath.Join(dir, name), stages, 0o644)
	})
	return filepath.Join(dir, name), err
}

// readStages returns the fast stages of nodes and pods from kwok's module.
func (b *builder) readStages(ctx context.Context, lock *os.File) ([]byte, error) {
	answer, failed := b.goCommand(ctx, lock, clusterModule, "mod", "download", "-json", kwokModule)
	var downloaded struct{ Dir, Error string }
	err := json.Unmarshal(answer, &downloaded)
	switch {
	case failed != nil:
		return nil, fmt.Errorf("%w%s", failed, downloaded.Error)
	case err != nil:
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

// goCommand runs the go command in m's folder and returns the output, also after a failure.
// Workspaces, which could replace the pinned versions, are disabled.
func (b *builder) goCommand(ctx context.Context, lock *os.File, m module, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, m.dir)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.ExtraFiles = []*os.File{lock}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopLimit
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err == nil {
		// A failure is harmless: the build only keeps the normal priority.
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, niceness)
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return stdout.Bytes(), err
}
