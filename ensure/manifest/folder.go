package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing/fstest" // MapFS is a file system in memory; this package does not import testing

	"k8s.io/apimachinery/pkg/runtime"
)

// A Folder has the manifests of an operator's children. A file in the folder overrides the built-in
// file of the same name. A Folder is safe for concurrent use.
//
// A Folder keeps a snapshot of its files, so that a manifest is never half-written, and never used
// together with an older version of another. Renderer takes the first snapshot. Later changes of
// files have an effect only if a controller watches Source.
//
// The folder need not exist. Hidden files are ignored, and so are folders. If a file cannot be used,
// no manifest is rendered until that file is corrected or removed. These are errors:
//
//   - a file or folder that cannot be read;
//   - a file that overrides nothing, unless the file ends in .tpl;
//   - files of more than 3 MiB together.
type Folder struct {
	dir      string // absolute; empty for none
	files    fs.FS  // in dir
	defaults fs.FS
	scheme   *runtime.Scheme
	current  atomic.Pointer[snapshot]
}

// NewFolder returns the manifests in the root of defaults, which is often an embed.FS. Files in dir,
// a path in the file system of the operator, override them; an empty dir has no files. scheme must
// have the kinds of the objects.
func NewFolder(dir string, defaults fs.FS, scheme *runtime.Scheme) *Folder {
	f := &Folder{dir: dir, files: fstest.MapFS{}, defaults: defaults, scheme: scheme}
	if dir != "" {
		if absolute, err := filepath.Abs(dir); err == nil {
			f.dir = absolute
		}
		f.files = os.DirFS(f.dir)
	}
	return f
}

// Renderer returns a renderer of the current snapshot. A reconcile calls Renderer once, so that all
// children are rendered from the same snapshot. If a file cannot be used, the methods of the
// renderer return an *Error that names the file, but not the path of the folder.
func (f *Folder) Renderer() *Renderer {
	if f == nil || f.defaults == nil || f.scheme == nil {
		return nil // a nil Renderer returns errors that say so
	}
	if f.current.Load() == nil {
		f.current.CompareAndSwap(nil, f.read())
	}
	return f.current.Load().renderer
}

// A snapshot has the files for one state of the folder.
type snapshot struct {
	files    fstest.MapFS
	err      error // set if a file cannot be used
	renderer *Renderer
}

func (s *snapshot) equal(other *snapshot) bool {
	return fmt.Sprint(s.err) == fmt.Sprint(other.err) &&
		maps.EqualFunc(s.files, other.files, func(a, b *fstest.MapFile) bool { return bytes.Equal(a.Data, b.Data) })
}

// A refusedFS has no file that can be opened.
type refusedFS struct{ err error }

// Open implements fs.FS.
func (r refusedFS) Open(string) (fs.File, error) { return nil, r.err }

func (f *Folder) read() *snapshot {
	files, err := f.readFiles()
	if err != nil {
		return &snapshot{err: err, renderer: NewRenderer(refusedFS{err}, f.scheme)}
	}
	return &snapshot{files: files, renderer: NewRenderer(Overlay(files, f.defaults), f.scheme)}
}

// readFiles returns the files of the folder, or an error about the first file that cannot be used. The
// internal files of a mounted ConfigMap are hidden. A folder with the name of a built-in file is an
// error: container runtimes often mount a missing file as a folder.
func (f *Folder) readFiles() (fstest.MapFS, error) {
	files, room := fstest.MapFS{}, int64(maxSize)
	entries, err := fs.ReadDir(f.files, ".")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return files, nil
	case err != nil:
		return nil, unreadable("the folder", err)
	}
	defaults, _ := fs.Glob(f.defaults, "*") // fails only for an invalid pattern
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") {
			continue
		}
		info, err := fs.Stat(f.files, name) // follows links: the files of a mounted ConfigMap are links
		isDefault := slices.Contains(defaults, name)
		switch {
		case err != nil:
			return nil, unreadable(name, err)
		case info.IsDir() && !isDefault:
			continue
		case !isDefault && path.Ext(name) != sharedSuffix:
			known := strings.Join(append(defaults, "and *"+sharedSuffix+" of any name"), ", ")
			return nil, &Error{File: name, Problem: "overrides nothing: there are " + known}
		case !info.Mode().IsRegular():
			return nil, &Error{File: name, Problem: "cannot be read: it is no file"}
		}
		text, err := f.readFile(name, room)
		if err != nil {
			return nil, err
		}
		room -= int64(len(text))
		files[name] = &fstest.MapFile{Data: text}
	}
	return files, nil
}

// readFile returns the content of a file, or an error if the file has more than room bytes.
func (f *Folder) readFile(name string, room int64) ([]byte, error) {
	file, err := f.files.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer file.Close() //nolint:errcheck // nothing is written
	text, err := io.ReadAll(io.LimitReader(file, room+1))
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case int64(len(text)) > room:
		return nil, &Error{File: name, Problem: "cannot be read: with it the folder holds more than 3 MiB"}
	}
	return text, nil
}
