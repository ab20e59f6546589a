package operator

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing/fstest" // MapFS is a file system in memory; this package has no further dependencies

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/ensure/manifest"
)

// sharedSuffix is the suffix of files whose definitions all manifests may use. A folder may have such
// files beyond those of the defaults.
const sharedSuffix = ".tpl"

// maxSize is the maximum size of all files in the folder, in bytes. A ConfigMap is always smaller. The
// limit protects the memory of the operator.
const maxSize = 3 << 20

// Templates are the manifests of an operator's children. A file in the folder of the flag --templates
// overrides the built-in file of the same name.
//
// The templates of a reconcile belong to one snapshot of the folder. Source reads the folder at the
// start, and after a change once the folder stops changing, so that no template is half written.
type Templates struct {
	defaults fs.FS
	scheme   *runtime.Scheme
	dir      string // absolute; empty for none
	current  atomic.Pointer[snapshot]
}

// NewTemplates returns the templates in the root of defaults. scheme must know the kinds of the
// children.
func NewTemplates(defaults fs.FS, scheme *runtime.Scheme) *Templates {
	return &Templates{defaults: defaults, scheme: scheme}
}

// AddFlag adds the flag --templates. Pass AddFlag to ParseFlags.
func (t *Templates) AddFlag(set *flag.FlagSet) {
	set.Func("templates",
		"`folder` with templates that override the built-in templates of the same name. The folder need not exist; "+
			"changes take effect without a restart",
		func(value string) (err error) {
			if t.dir = value; value != "" {
				t.dir, err = filepath.Abs(value)
			}
			return err
		})
}

// Renderer returns a renderer of the current templates. A reconcile calls Renderer once, so that all
// children are rendered from the same snapshot. The error is a *manifest.Error if a file cannot be read,
// or if it overrides no built-in file.
func (t *Templates) Renderer() (*manifest.Renderer, error) {
	current := t.current.Load()
	if current == nil {
		t.current.CompareAndSwap(nil, t.read())
		current = t.current.Load()
	}
	return current.renderer, current.err
}

// Render returns the children of owner, which childrenFor renders from the current templates. It
// returns an error if a template, or its result for owner, is invalid.
func Render[O, C any](t *Templates, owner O, childrenFor func(O, *manifest.Renderer) (C, error)) (C, error) {
	renderer, err := t.Renderer()
	if err != nil {
		var none C
		return none, err
	}
	return childrenFor(owner, renderer)
}

// A snapshot has the templates for one state of the folder.
type snapshot struct {
	files    fstest.MapFS // in the folder
	renderer *manifest.Renderer
	err      error // set if the folder cannot be used; renderer is nil then
}

func (o *snapshot) equal(other *snapshot) bool {
	return fmt.Sprint(o.err) == fmt.Sprint(other.err) &&
		maps.EqualFunc(o.files, other.files, func(a, b *fstest.MapFile) bool { return bytes.Equal(a.Data, b.Data) })
}

// names returns the names of the files, sorted.
func (o *snapshot) names() []string { return slices.Sorted(maps.Keys(o.files)) }

func (t *Templates) read() *snapshot {
	files, err := t.readFolder()
	if err != nil {
		return &snapshot{err: err}
	}
	return &snapshot{files: files, renderer: manifest.NewRenderer(manifest.Overlay(files, t.defaults), t.scheme)}
}

// readFolder returns the files of the folder, or an error about the first file that cannot be used.
// Hidden files, such as the internal files of a mounted ConfigMap, are ignored. Folders are ignored,
// too, unless one has the name of a template: container runtimes often mount a missing file as a folder.
func (t *Templates) readFolder() (fstest.MapFS, error) {
	files := fstest.MapFS{}
	if t.dir == "" {
		return files, nil
	}
	entries, err := os.ReadDir(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, unreadable("--templates", err)
	}
	room := maxSize
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(t.dir, entry.Name())) // follows links: the files of a mounted ConfigMap are links
		switch {
		case err != nil:
			return nil, unreadable(entry.Name(), err)
		case info.IsDir() && !t.isDefault(entry.Name()):
			continue
		}
		text, err := t.readFile(entry.Name(), info.Mode(), room)
		if err != nil {
			return nil, err
		}
		room -= len(text)
		files[entry.Name()] = &fstest.MapFile{Data: text}
	}
	return files, nil
}

func (t *Templates) isDefault(name string) bool {
	_, err := fs.Stat(t.defaults, name)
	return err == nil
}

// readFile returns the content of a file, or an error if it has more than room bytes.
func (t *Templates) readFile(name string, mode fs.FileMode, room int) ([]byte, error) {
	switch {
	case !t.isDefault(name) && filepath.Ext(name) != sharedSuffix:
		return nil, t.overridesNothing(name)
	case !mode.IsRegular():
		return nil, &manifest.Error{File: name, Problem: "cannot be read: it is no file"}
	}
	file, err := os.Open(filepath.Join(t.dir, name))
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer file.Close() //nolint:errcheck // nothing is written
	text, err := io.ReadAll(io.LimitReader(file, int64(room)+1))
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case len(text) > room:
		return nil, &manifest.Error{File: name, Problem: "cannot be read: with it the folder holds more than 3 MiB"}
	}
	return text, nil
}

// overridesNothing returns an error that lists the valid names.
func (t *Templates) overridesNothing(file string) error {
	known, err := fs.ReadDir(t.defaults, ".")
	if err != nil {
		return err
	}
	var names strings.Builder
	for _, entry := range known {
		names.WriteString(entry.Name() + ", ")
	}
	return &manifest.Error{File: file, Problem: "overrides nothing: there are " + names.String() + "and *" + sharedSuffix + " of any name"}
}

// unreadable removes the path from err: users of the cluster should not see paths of the operator.
func unreadable(file string, err error) error {
	if underlying, ok := errors.AsType[*fs.PathError](err); ok {
		err = underlying.Err
	}
	return &manifest.Error{File: file, Problem: "cannot be read: " + err.Error()}
}
