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

// workspace is a temporary module with the sources of command print, to be built
// against one version after another.
type workspace struct {
	dir      string
	goLine   string   // the go directive of the checkout's modules
	fixtures []string // arguments of print
}

// newWorkspace copies the sources out of the checkout that the working directory is in.
func newWorkspace(ctx context.Context) (*workspace, error) {
	const format = `{{.ImportPath}} {{with .Module}}{{.GoVersion}}{{end}} {{.Dir}}`
	listed, err := command(ctx, ".", "list", "-deps", "-f", format, program)
	if err != nil {
		return nil, fmt.Errorf("cannot find the sources; this runs in the folder test/tools/compat of a checkout: %w", err)
	}
	dir, err := os.MkdirTemp("", "trueup-compat-")
	if err != nil {
		return nil, err
	}
	w := &workspace{dir: dir}
	for line := range strings.Lines(listed) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if fields[0] != root && !strings.HasPrefix(fields[0], root+"/") {
			continue
		}
		w.goLine = fields[1]
		if err := copySources(fields[2], w.folder(fields[0])); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

func (w *workspace) close() error { return os.RemoveAll(w.dir) }

// folder returns where the package of a path is in the module.
func (w *workspace) folder(path string) string {
	return filepath.Join(w.dir, filepath.FromSlash(strings.TrimPrefix(path, root)))
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
func (w *workspace) published(ctx context.Context) ([]string, error) {
	if err := w.writeModule(); err != nil {
		return nil, err
	}
	var lists [][]string
	for _, module := range modules {
		text, err := command(ctx, w.dir, "list", "-m", "-versions", module)
		if err != nil {
			return nil, fmt.Errorf("cannot list the versions of %s: %w", module, err)
		}
		lists = append(lists, strings.Fields(text))
	}
	return common(lists[0], lists[1]), nil
}

// releases tries the last patch of each minor version.
func (w *workspace) releases(ctx context.Context, out io.Writer, published []string) ([]result, error) {
	var trials []result
	for _, minor := range minors {
		version, err := lastPatch(published, minor)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(out, "building with", version)
		res, err := w.testVersion(ctx, version)
		if err != nil {
			return nil, fmt.Errorf("cannot try %s: %w", version, err)
		}
		trials = append(trials, res)
	}
	return trials, nil
}

// update writes the golden values, and the groups that command print knows in its own module.
func (w *workspace) update(ctx context.Context, newest result) error {
	api, err := w.download(ctx, modules[0], newest.version)
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
func (w *workspace) preRelease(ctx context.Context, out io.Writer, trials []result, published []string) ([]result, error) {
	for _, version := range preReleases(published) {
		fmt.Fprintln(out, "building with", version)
		res, err := w.testVersion(ctx, version)
		if err == nil {
			return append(trials, res), nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		fmt.Fprintf(out, "skipping %s: %s\n", version, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil, errors.New("no pre-release builds")
}

// testVersion builds print with a version and runs it.
func (w *workspace) testVersion(ctx context.Context, version string) (result, error) {
	minor, err := minorOf(version)
	if err != nil {
		return result{}, err
	}
	if err := w.require(ctx, version, ""); err != nil {
		return result{}, err
	}
	api, err := w.download(ctx, "k8s.io/api", version)
	if err != nil {
		return result{}, err
	}
	if err := writeGroups(filepath.Join(w.folder(program), "groups.go"), api); err != nil {
		return result{}, err
	}
	if !isPreRelease(version) {
		w.fixtures = append(w.fixtures, fmt.Sprintf("v0.%d=%s", minor, filepath.Join(api, "testdata", "HEAD")))
	}
	return w.buildAndRun(ctx, version)
}

// testFutureFields tests a version that has just been tested once more, with fields that a future
// version may have.
func (w *workspace) testFutureFields(ctx context.Context, out io.Writer, version string) (result, error) {
	fmt.Fprintln(out, "building with", version+futureSuffix)
	var replacements strings.Builder
	for _, module := range modules {
		dir, err := w.download(ctx, module, version)
		if err != nil {
			return result{}, err
		}
		evolved := filepath.Join("tomorrow", filepath.Base(module))
		if err := addFutureFields(dir, filepath.Join(w.dir, evolved)); err != nil {
			return result{}, err
		}
		fmt.Fprintf(&replacements, "\nreplace %s => ./%s\n", module, filepath.ToSlash(evolved))
	}
	if err := w.require(ctx, version, replacements.String()); err != nil {
		return result{}, err
	}
	return w.buildAndRun(ctx, version+futureSuffix)
}

// buildAndRun runs command print with the versions in go.mod. It uses -trimpath so that the build
// cache is effective, although the module is in another folder each time.
func (w *workspace) buildAndRun(ctx context.Context, version string) (result, error) {
	minor, err := minorOf(version)
	if err != nil {
		return result{}, err
	}
	binary := filepath.Join(w.dir, "print.exe")
	if _, err := command(ctx, w.dir, "build", "-mod=mod", "-trimpath", "-tags="+tags(minor), "-o", binary, program); err != nil {
		return result{}, err
	}
	text, err := output(exec.CommandContext(ctx, binary, w.fixtures...)) //nolint:gosec // it was built above
	if err != nil {
		return result{}, err
	}
	return parseResult(version, strings.NewReader(text))
}

// require requires a version of both modules and lets the go command choose the rest, including the
// Go version: it downloads a newer one if permitted.
func (w *workspace) require(ctx context.Context, version, replacements string) error {
	if err := os.RemoveAll(filepath.Join(w.dir, "go.sum")); err != nil {
		return err
	}
	if err := w.writeModule(); err != nil {
		return err
	}
	get := []string{"get"}
	for _, module := range modules {
		get = append(get, module+"@"+version)
	}
	if _, err := command(ctx, w.dir, get...); err != nil {
		return err
	}
	required, err := os.ReadFile(w.modFile())
	if err != nil {
		return err
	}
	return os.WriteFile(w.modFile(), append(required, replacements...), 0o600)
}

func (w *workspace) modFile() string { return filepath.Join(w.dir, "go.mod") }

// writeModule begins a go.mod that requires nothing.
func (w *workspace) writeModule() error {
	text := fmt.Sprintf("module %s\n\ngo %s\n", root, w.goLine)
	return os.WriteFile(w.modFile(), []byte(text), 0o600)
}

// download returns the folder of a module in the module cache.
func (w *workspace) download(ctx context.Context, module, version string) (string, error) {
	text, failed := command(ctx, w.dir, "mod", "download", "-json", module+"@"+version)
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
