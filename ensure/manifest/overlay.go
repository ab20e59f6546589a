package manifest

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Overlay returns a file system with the files of upper and lower. If both have a file of the same
// name, the result has the file of upper. upper is often os.DirFS of a folder that is mounted over
// the defaults in lower; the folder may be empty or missing. A nil upper has no files. os.DirFS of
// an empty name cannot be read.
func Overlay(upper, lower fs.FS) fs.FS {
	switch {
	case upper == nil:
		return lower
	case lower == nil:
		return upper
	}
	return overlay{upper: upper, lower: lower}
}

type overlay struct{ upper, lower fs.FS }

// Open implements fs.FS. That upper's file cannot be opened hides lower's all the same.
func (o overlay) Open(name string) (fs.File, error) {
	file, err := o.upper.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.lower.Open(name)
	}
	return file, err
}

// ReadDir implements fs.ReadDirFS.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	upper, err := fs.ReadDir(o.upper, name)
	lower, lowerErr := fs.ReadDir(o.lower, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lower, lowerErr
	case errors.Is(lowerErr, fs.ErrNotExist):
		return upper, err
	case err != nil || lowerErr != nil:
		return nil, errors.Join(err, lowerErr)
	}
	entries := slices.Concat(upper, lower) // upper's first, which the stable sort and Compact keep
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.CompactFunc(entries, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() }), nil
}
