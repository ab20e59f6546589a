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
	"testing/fstest" // has the standard library's file system in memory, and brings nothing along

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/ensure/manifest"
)

// sharedSuffix is of the files whose definitions all manifests may use. A folder may have
// more of them than the defaults.
const sharedSuffix = ".tpl"

// maxSize is how much a folder may hold: no ConfigMap has as much, and the operator is to
// outlive whatever else lies there.
const maxSize = 3 << 20

// Templates are the manifests of an operator's children: built-in ones, which files in a folder
// override one by one.
//
// All children are made from one state of the folder. Source reads the folder at the start, and
// after each change once the folder stops changing. So no template is half written, and no two
// templates are of different states.
type Templates struct {
	defaults fs.FS
	scheme   *runtime.Scheme
	dir      string // absolute; empty for none
	current  atomic.Pointer[overridden]
}

// NewTemplates returns the templates of defaults, all in its root. scheme has the kinds of the
// children.
func NewTemplates(defaults fs.FS, scheme *runtime.Scheme) *Templates {
	return &Templates{defaults: defaults, scheme: scheme}
}

// AddFlag adds the flag --templates. Pass AddFlag to ParseFlags.
func (t *Templates) AddFlag(set *flag.FlagSet) {
	set.Func("templates",
		"`folder` with templates that take the place of the operator's own of the same name. It need not be there; "+
			"what changes in it is taken up",
		func(value string) (err error) {
			if t.dir = value; value != "" {
				t.dir, err = filepath.Abs(value)
			}
			return err
		})
}

// Renderer returns a renderer of the current templates. A reconcile calls Renderer once, so that
// all its children are of the same state. An unusable folder, because a file cannot be read or has
// a name that overrides nothing, is a *manifest.Error.
func (t *Templates) Renderer() (*manifest.Renderer, error) {
	now := t.current.Load()
	if now == nil {
		t.current.CompareAndSwap(nil, t.read())
		now = t.current.Load()
	}
	return now.renderer, now.err
}

// Render makes the children of owner with childrenFor, from the current templates. An error is
// about a template, or about the result for owner.
func Render[O, C any](t *Templates, owner O, childrenFor func(O, *manifest.Renderer) (C, error)) (C, error) {
	renderer, err := t.Renderer()
	if err != nil {
		var none C
		return none, err
	}
	return childrenFor(owner, renderer)
}

// overridden are the templates with one state of the folder.
type overridden struct {
	files    fstest.MapFS // of the folder
	renderer *manifest.Renderer
	err      error // instead of renderer
}

func (o *overridden) equal(other *overridden) bool {
	return fmt.Sprint(o.err) == fmt.Sprint(other.err) &&
		maps.EqualFunc(o.files, other.files, func(a, b *fstest.MapFile) bool { return bytes.Equal(a.Data, b.Data) })
}

// names are those of the files, in order.
func (o *overridden) names() []string { return slices.Sorted(maps.Keys(o.files)) }

func (t *Templates) read() *overridden {
	files, err := t.readFolder()
	if err != nil {
		return &overridden{err: err}
	}
	return &overridden{files: files, renderer: manifest.NewRenderer(manifest.Overlay(files, t.defaults), t.scheme)}
}

// readFolder returns the files of the folder, or an error about the first unusable file. Hidden
// files, such as the parts of a mounted ConfigMap, and folders are ignored, except for a folder
// with the name of a template: a missing file is often mounted as a folder.
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
		info, err := os.Stat(filepath.Join(t.dir, entry.Name())) // behind a link, as a mounted ConfigMap has them
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

// readFile returns the content of a file of up to room bytes.
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

// unreadable says why without the path, which is for those who run the operator to know.
func unreadable(file string, err error) error {
	if underlying, ok := errors.AsType[*fs.PathError](err); ok {
		err = underlying.Err
	}
	return &manifest.Error{File: file, Problem: "cannot be read: " + err.Error()}
}
