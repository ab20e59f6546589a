package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest" // MapFS is a file system in memory; this package does not import testing
)

// dataLink is the entry by which Kubernetes updates a volume in one step: a link to a folder with all files.
const dataLink = "..data"

// What may be wrong with the folder itself.
var (
	errMissing  = &Error{File: "the folder", Problem: "does not exist"}
	errEmpty    = &Error{File: "the folder", Problem: "has no files, and no entry " + dataLink + ", which volumes have"}
	errRestless = &Error{File: "the folder", Problem: "does not stop changing"}
)

// A snapshot has the files of the folder as one look at it found them.
type snapshot struct {
	files     fstest.MapFS
	fileErr   error  // set if a file cannot be used
	folderErr *Error // set if the folder cannot be used
	renderer  *Renderer
}

func (s *snapshot) isUsable() bool { return s.fileErr == nil && s.folderErr == nil }

func (s *snapshot) isAbsent() bool { return s.folderErr == errMissing || s.folderErr == errEmpty }

// equal reports whether both snapshots say the same.
func (s *snapshot) equal(other *snapshot) bool {
	return fmt.Sprint(s.fileErr, s.folderErr) == fmt.Sprint(other.fileErr, other.folderErr) &&
		maps.EqualFunc(s.files, other.files, func(a, b *fstest.MapFile) bool { return bytes.Equal(a.Data, b.Data) })
}

// stoodStillSince reports whether nobody wrote a file between both snapshots.
func (s *snapshot) stoodStillSince(before *snapshot) bool {
	return s.equal(before) &&
		maps.EqualFunc(s.files, before.files, func(a, b *fstest.MapFile) bool { return a.ModTime.Equal(b.ModTime) })
}

// A refusedFS has no file that can be opened.
type refusedFS struct{ err error }

// Open implements fs.FS.
func (r refusedFS) Open(string) (fs.File, error) { return nil, r.err }

// look reads all files of the folder.
func (f *Folder) look() *snapshot {
	if f.dir == "" {
		return f.builtIn()
	}
	dir, entries, err := f.list(f.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.without(errMissing)
	case err != nil:
		return f.without(unreadable(errMissing.File, err))
	case !slices.ContainsFunc(entries, isData):
		return f.read(dir, entries, errEmpty)
	}
	if i := slices.IndexFunc(entries, isVisibleFile); i >= 0 {
		return f.refuse(&Error{File: entries[i].Name(), Problem: "is not in " + dataLink + ", where the files of a volume are"})
	}
	dir, entries, err = f.list(filepath.Join(dir, dataLink))
	if err != nil {
		return f.without(unreadable(errMissing.File, err))
	}
	return f.read(dir, entries, nil)
}

// list returns where a folder is, and its entries. Whoever reads the files there reads those of one
// version, although links to the folder may change.
func (f *Folder) list(dir string) (resolved string, entries []fs.DirEntry, err error) {
	if resolved, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	entries, err = fs.ReadDir(f.dirFS(resolved), ".")
	return resolved, entries, err
}

func isData(entry fs.DirEntry) bool { return entry.Name() == dataLink }

func isHidden(name string) bool { return strings.HasPrefix(name, ".") }

// isVisibleFile is false for a link, as Kubernetes makes links to the files in ..data.
func isVisibleFile(entry fs.DirEntry) bool {
	return entry.Type().IsRegular() && !isHidden(entry.Name())
}

// read returns the snapshot of a folder with these entries. ifEmpty is the error if there are no files.
func (f *Folder) read(dir string, entries []fs.DirEntry, ifEmpty *Error) *snapshot {
	files, err := f.readFiles(f.dirFS(dir), entries)
	switch {
	case err != nil:
		return f.refuse(err)
	case len(files) == 0 && ifEmpty != nil:
		return f.without(ifEmpty)
	}
	return &snapshot{files: files, renderer: NewRenderer(Overlay(files, f.defaults), f.scheme)}
}

// refuse returns the snapshot of a folder with a file that cannot be used.
func (f *Folder) refuse(fileErr error) *snapshot {
	return &snapshot{fileErr: fileErr, renderer: NewRenderer(refusedFS{fileErr}, f.scheme)}
}

// without returns the snapshot of a folder that cannot be used.
func (f *Folder) without(folderErr *Error) *snapshot {
	return &snapshot{folderErr: folderErr, renderer: NewRenderer(refusedFS{folderErr}, f.scheme)}
}

// builtIn returns a snapshot without files.
func (f *Folder) builtIn() *snapshot { return &snapshot{renderer: NewRenderer(f.defaults, f.scheme)} }

// readFiles returns the files, or an error about the first file that cannot be used. A folder with the name
// of a built-in file is an error: container runtimes often mount a missing file as a folder.
func (f *Folder) readFiles(dir fs.FS, entries []fs.DirEntry) (fstest.MapFS, error) {
	files, room := fstest.MapFS{}, int64(maxSize)
	defaults, _ := fs.Glob(f.defaults, "*") // fails only for an invalid pattern
	for _, entry := range entries {
		name := entry.Name()
		if isHidden(name) {
			continue
		}
		info, err := fs.Stat(dir, name) // follows links
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
		text, err := readFile(dir, name, room)
		if err != nil {
			return nil, err
		}
		room -= int64(len(text))
		files[name] = &fstest.MapFile{Data: text, ModTime: info.ModTime()} // before the content was read
	}
	return files, nil
}

// readFile returns the content of a file, or an error if the file has more than room bytes.
func readFile(dir fs.FS, name string, room int64) ([]byte, error) {
	file, err := dir.Open(name)
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
