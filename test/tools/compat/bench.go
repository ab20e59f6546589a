package main

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
	"strings"
)

const (
	root    = "github.com/trueup-go/trueup"
	program = root + "/test/tools/compat/print"
)

// modules are replaced together: they are published together.
var modules = []string{"k8s.io/api", "k8s.io/apimachinery"}

// bench is a temporary module with the sources of command print, to be built
// against one version after another.
type bench struct {
	dir      string
	goLine   string   // the go directive of the checkout's modules
	fixtures []string // arguments of print
}

// newBench copies the sources out of the checkout that the working directory is in.
func newBench(ctx context.Context) (*bench, error) {
	const format = `{{.ImportPath}} {{with .Module}}{{.GoVersion}}{{end}} {{.Dir}}`
	listed, err := command(ctx, ".", "list", "-deps", "-f", format, program)
	if err != nil {
		return nil, fmt.Errorf("cannot find the sources; this runs in the folder test/tools/compat of a checkout: %w", err)
	}
	dir, err := os.MkdirTemp("", "trueup-compat-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir}
	for line := range strings.Lines(listed) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if fields[0] != root && !strings.HasPrefix(fields[0], root+"/") {
			continue
		}
		b.goLine = fields[1]
		if err := copySources(fields[2], b.folder(fields[0])); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

// folder returns where the package of a path is in the module.
func (b *bench) folder(path string) string {
	return filepath.Join(b.dir, filepath.FromSlash(strings.TrimPrefix(path, root)))
}

// copySources copies a package without tests, whatever the build tags of the files.
func copySources(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// published returns the versions that there are of both modules, ascending.
func (b *bench) published(ctx context.Context) ([]string, error) {
	if err := b.writeModule(); err != nil {
		return nil, err
	}
	var lists [][]string
	for _, module := range modules {
		text, err := command(ctx, b.dir, "list", "-m", "-versions", module)
		if err != nil {
			return nil, fmt.Errorf("cannot list the versions of %s: %w", module, err)
		}
		lists = append(lists, strings.Fields(text))
	}
	return common(lists[0], lists[1]), nil
}

// releases tries the last patch of each minor version.
func (b *bench) releases(ctx context.Context, out io.Writer, published []string) ([]trial, error) {
	var trials []trial
	for _, minor := range minors {
		version, err := lastPatch(published, minor)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(out, "building with", version)
		t, err := b.try(ctx, version)
		if err != nil {
			return nil, fmt.Errorf("cannot try %s: %w", version, err)
		}
		trials = append(trials, t)
	}
	return trials, nil
}

// update writes the golden values, and the groups that command print knows in its own module.
func (b *bench) update(ctx context.Context, newest trial) error {
	api, err := b.download(ctx, modules[0], newest.version)
	if err != nil {
		return err
	}
	if err := writeGroups(filepath.Join("print", "groups.go"), api); err != nil {
		return err
	}
	return os.WriteFile(golden, newest.corpus.text(), 0o600)
}

// preRelease adds the newest pre-release that builds, and reports why newer ones do not: they may
// need a newer Go.
func (b *bench) preRelease(ctx context.Context, out io.Writer, trials []trial, published []string) ([]trial, error) {
	for _, version := range preReleases(published) {
		fmt.Fprintln(out, "building with", version)
		t, err := b.try(ctx, version)
		if err == nil {
			return append(trials, t), nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		fmt.Fprintf(out, "skipping %s: %s\n", version, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil, errors.New("no pre-release builds")
}

// try builds print with a version and runs it.
func (b *bench) try(ctx context.Context, version string) (trial, error) {
	minor, err := minorOf(version)
	if err != nil {
		return trial{}, err
	}
	if err := b.require(ctx, version, ""); err != nil {
		return trial{}, err
	}
	api, err := b.download(ctx, "k8s.io/api", version)
	if err != nil {
		return trial{}, err
	}
	if err := writeGroups(filepath.Join(b.folder(program), "groups.go"), api); err != nil {
		return trial{}, err
	}
	if !isPreRelease(version) {
		b.fixtures = append(b.fixtures, fmt.Sprintf("v0.%d=%s", minor, filepath.Join(api, "testdata", "HEAD")))
	}
	return b.buildAndRun(ctx, version)
}

// tomorrow tests possible future changes of a version that has just been tested.
func (b *bench) tomorrow(ctx context.Context, out io.Writer, version string) (trial, error) {
	fmt.Fprintln(out, "building with", version+tomorrow)
	var replacements strings.Builder
	for _, module := range modules {
		dir, err := b.download(ctx, module, version)
		if err != nil {
			return trial{}, err
		}
		evolved := filepath.Join("tomorrow", filepath.Base(module))
		if err := evolve(dir, filepath.Join(b.dir, evolved)); err != nil {
			return trial{}, err
		}
		fmt.Fprintf(&replacements, "\nreplace %s => ./%s\n", module, filepath.ToSlash(evolved))
	}
	if err := b.require(ctx, version, replacements.String()); err != nil {
		return trial{}, err
	}
	return b.buildAndRun(ctx, version+tomorrow)
}

// buildAndRun runs command print with the versions in go.mod. It uses -trimpath so that the build
// cache is effective, although the module is in another folder each time.
func (b *bench) buildAndRun(ctx context.Context, version string) (trial, error) {
	minor, err := minorOf(version)
	if err != nil {
		return trial{}, err
	}
	binary := filepath.Join(b.dir, "print.exe")
	if _, err := command(ctx, b.dir, "build", "-mod=mod", "-trimpath", "-tags="+tags(minor), "-o", binary, program); err != nil {
		return trial{}, err
	}
	text, err := output(exec.CommandContext(ctx, binary, b.fixtures...)) //nolint:gosec // it was built above
	if err != nil {
		return trial{}, err
	}
	return parseTrial(version, strings.NewReader(text))
}

// require requires a version of both modules and lets the go command choose the rest, including the
// Go version: it downloads a newer one if permitted.
func (b *bench) require(ctx context.Context, version, replacements string) error {
	if err := os.RemoveAll(filepath.Join(b.dir, "go.sum")); err != nil {
		return err
	}
	if err := b.writeModule(); err != nil {
		return err
	}
	get := []string{"get"}
	for _, module := range modules {
		get = append(get, module+"@"+version)
	}
	if _, err := command(ctx, b.dir, get...); err != nil {
		return err
	}
	required, err := os.ReadFile(b.modFile())
	if err != nil {
		return err
	}
	return os.WriteFile(b.modFile(), append(required, replacements...), 0o600)
}

func (b *bench) modFile() string { return filepath.Join(b.dir, "go.mod") }

// writeModule begins a go.mod that requires nothing.
func (b *bench) writeModule() error {
	text := fmt.Sprintf("module %s\n\ngo %s\n", root, b.goLine)
	return os.WriteFile(b.modFile(), []byte(text), 0o600)
}

// download returns the folder of a module in the module cache.
func (b *bench) download(ctx context.Context, module, version string) (string, error) {
	text, failed := command(ctx, b.dir, "mod", "download", "-json", module+"@"+version)
	var told struct{ Dir, Error string }
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return "", errors.Join(failed, err)
	}
	if told.Error != "" {
		return "", errors.New(told.Error)
	}
	return told.Dir, failed
}

// command runs the go command in dir and returns the output.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return output(cmd)
}

func output(cmd *exec.Cmd) (string, error) {
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(problems.Bytes()))
	}
	return out.String(), nil
}

// writeGroups writes the file of command print that names every group and version
// in a folder of k8s.io/api.
func writeGroups(file, api string) error {
	registers, err := filepath.Glob(filepath.Join(api, "*", "*", "register.go"))
	if err != nil {
		return err
	}
	slices.Sort(registers)
	var imports, adders strings.Builder
	for _, register := range registers {
		text, err := os.ReadFile(register)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte("AddToScheme ")) {
			continue
		}
		version := filepath.Dir(register)
		group := filepath.Base(filepath.Dir(version))
		alias := group + filepath.Base(version)
		fmt.Fprintf(&imports, "\t%s \"k8s.io/api/%s/%s\"\n", alias, group, filepath.Base(version))
		fmt.Fprintf(&adders, "\t\t%s.AddToScheme,\n", alias)
	}
	text := fmt.Sprintf(groups, &imports, &adders)
	return os.WriteFile(file, []byte(text), 0o600)
}

const groups = `// Code generated by go run . -update. DO NOT EDIT.

package main

import (
%s	"k8s.io/apimachinery/pkg/runtime"
)

func groups() []func(*runtime.Scheme) error {
	return []func(*runtime.Scheme) error{
%s	}
}
`
