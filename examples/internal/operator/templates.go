package operator

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing/fstest" // has the standard library's file system in memory, and brings nothing along

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/ensure/template"
)

// sharedSuffix is of the files whose definitions all manifests may use. A folder may have
// more of them than the defaults.
const sharedSuffix = ".tpl"

// Templates are the manifests that an operator makes children from: those that it was
// built with, overridden file by file from a folder.
//
// What they are made from is one state of the folder, which TemplatesSource replaces when
// the folder has changed and come to rest, never a file that is half written, and never
// one file of before a change beside another of after it.
type Templates struct {
	defaults fs.FS
	scheme   *runtime.Scheme
	dir      string // absolute; empty for none
	current  atomic.Pointer[overridden]
}

// NewTemplates returns the templates of defaults, all of them in its root. scheme knows the
// kinds that are made from them.
func NewTemplates(defaults fs.FS, scheme *runtime.Scheme) *Templates {
	return &Templates{defaults: defaults, scheme: scheme}
}

// AddFlag adds the flag --templates. It is for ParseFlags.
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

// Manifests returns the templates as they are now. A reconcile asks once, so that all of its
// children are of the same state. A folder that does not do, because a file cannot be read
// or has a name that overrides nothing, is a *template.Error.
func (t *Templates) Manifests() (*template.Manifests, error) {
	now := t.current.Load()
	if now == nil {
		t.current.CompareAndSwap(nil, t.read())
		now = t.current.Load()
	}
	return now.manifests, now.err
}

// overridden are the templates with one state of the folder.
type overridden struct {
	files     fstest.MapFS // of the folder
	manifests *template.Manifests
	err       error // instead of manifests
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
	return &overridden{files: files, manifests: template.New(template.Overlay(files, t.defaults), t.scheme)}
}

// readFolder returns the files of the folder, the first that does not do as an error. What
// is hidden, as the parts of a mounted ConfigMap are, and folders do not count.
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
		return nil, unreadable(t.dir, err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(t.dir, entry.Name())) // behind a link, as a mounted ConfigMap has them
		switch {
		case err != nil:
			return nil, unreadable(entry.Name(), err)
		case info.IsDir():
			continue
		}
		text, err := t.readFile(entry.Name(), info.Mode())
		if err != nil {
			return nil, err
		}
		files[entry.Name()] = &fstest.MapFile{Data: text}
	}
	return files, nil
}

func (t *Templates) readFile(name string, mode fs.FileMode) ([]byte, error) {
	known, err := fs.ReadDir(t.defaults, ".")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(known))
	for i, file := range known {
		names[i] = file.Name()
	}
	switch {
	case !slices.Contains(names, name) && filepath.Ext(name) != sharedSuffix:
		return nil, &template.Error{File: name, Problem: "overrides nothing: there are " +
			strings.Join(names, ", ") + ", and *" + sharedSuffix + " of any name"}
	case !mode.IsRegular():
		return nil, &template.Error{File: name, Problem: "cannot be read: it is no file"}
	}
	text, err := os.ReadFile(filepath.Join(t.dir, name))
	if err != nil {
		return nil, unreadable(name, err)
	}
	return text, nil
}

// unreadable says why without the path, which only those who run the operator know.
func unreadable(file string, err error) error {
	if underlying, ok := errors.AsType[*fs.PathError](err); ok {
		err = underlying.Err
	}
	return &template.Error{File: file, Problem: "cannot be read: " + err.Error()}
}
