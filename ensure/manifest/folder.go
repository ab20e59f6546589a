package manifest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// A Folder has the manifests of an operator's children. A file in the folder overrides the built-in
// file of the same name. A Folder is safe for concurrent use.
//
// A Folder keeps a snapshot of its files, so that a manifest is never half-written, and never used
// together with an older version of another. Renderer takes the first snapshot. Later changes of
// files have an effect only if a controller watches Source, which takes a snapshot once the content, size
// and modification time of all files are the same in two looks in a row.
//
// A folder that is missing, cannot be listed, or has neither files nor an entry ..data is ignored: the last good
// snapshot stays in use, and Err says why. Without a good snapshot, it is an error, as is a folder whose files do not
// stop changing for 5 seconds. The entry ..data is in each volume that Kubernetes fills, such as that of a ConfigMap:
// the files are those in the folder to which it leads, and if there are none, the built-in files are used.
//
// Hidden files are ignored, and so are folders. If a file cannot be used, no manifest is rendered until
// that file is corrected or removed. These are errors:
//
//   - a file that cannot be read;
//   - a file that overrides nothing, unless the file ends in .tpl;
//   - a file next to ..data;
//   - files of more than 3 MiB together.
type Folder struct {
	dir        string // absolute; empty for none
	dirFS      func(dir string) fs.FS
	defaults   fs.FS
	scheme     *runtime.Scheme
	isOptional bool

	mu      sync.Mutex
	current *snapshot // in use
	problem error     // what Err returns
	good    *snapshot // the last one whose files can be used and stood still
	wasSeen bool      // with files that can be used
}

// NewFolder returns the manifests in the root of defaults, which is often an embed.FS. Files in dir,
// a path in the file system of the operator, override them; an empty dir has no files. scheme must
// have the kinds of the objects.
func NewFolder(dir string, defaults fs.FS, scheme *runtime.Scheme) *Folder {
	if absolute, err := filepath.Abs(dir); err == nil && dir != "" {
		dir = absolute
	}
	return &Folder{dir: dir, dirFS: os.DirFS, defaults: defaults, scheme: scheme}
}

// Optional returns a Folder like f that may be missing or empty at first: until it has files, the built-in
// files are used. Once it had files, it is like any other folder. A restart forgets this: if the folder is
// missing or empty then, the built-in files are used.
func (f *Folder) Optional() *Folder {
	if f == nil {
		return nil
	}
	return &Folder{dir: f.dir, dirFS: f.dirFS, defaults: f.defaults, scheme: f.scheme, isOptional: true}
}

// Renderer returns a renderer of the current snapshot. A reconcile calls Renderer once, so that all
// children are rendered from the same snapshot. If a file cannot be used, or the folder cannot be used and
// no good snapshot exists, the methods of the renderer return an *Error that names the file, but not the
// path of the folder.
func (f *Folder) Renderer() *Renderer {
	if !f.isComplete() {
		return nil // a nil Renderer returns errors that say so
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookOnce()
	return f.current.renderer
}

// Err returns an *Error that says why the folder cannot be used, or nil. An operator reports it while its
// children are rendered from the last good snapshot, and does not start with it. For a file that cannot be
// used, Err returns nil: only that file has to be corrected, and the renderer's methods return the error.
func (f *Folder) Err() error {
	if !f.isComplete() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookOnce()
	return f.problem
}

func (f *Folder) isComplete() bool { return f != nil && f.defaults != nil && f.scheme != nil }

// lookOnce takes the first snapshot. It may have half-written files, so it is not good.
func (f *Folder) lookOnce() {
	if f.current == nil {
		f.current, f.problem = f.choose(f.look())
	}
}

// use decides which snapshot is in use after seen, which stood still. It returns why seen is not.
func (f *Folder) use(seen *snapshot) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current, f.problem = f.choose(seen)
	if f.problem != nil {
		return f.problem
	}
	if seen.isUsable() {
		f.good = seen
	}
	return seen.fileErr
}

// choose returns seen, or what is used in its place if the folder cannot be used.
func (f *Folder) choose(seen *snapshot) (used *snapshot, problem error) {
	f.wasSeen = f.wasSeen || seen.isUsable()
	switch {
	case seen.folderErr == nil:
		return seen, nil
	case f.good != nil:
		kept := *seen.folderErr
		kept.Problem += "; the last manifests that could be read stay in use"
		return f.good, &kept
	case f.isOptional && !f.wasSeen && seen.isAbsent():
		return f.builtIn(), nil
	}
	return seen, seen.folderErr
}
