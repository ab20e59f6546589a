package suite

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Folder is one that --templates names, over the operator's own templates.
type Folder struct {
	Path     string
	Defaults fs.FS
}

// keeper is a file that overrides nothing and defines nothing. While it is there, the folder is not empty: the
// operator would keep its last templates.
const keeper = "keep.tpl"

// NewFolder returns a folder over the operator's own templates, which has a file that changes nothing.
func NewFolder(t *testing.T, defaults fs.FS) Folder {
	t.Helper()
	f := Folder{Path: t.TempDir(), Defaults: defaults}
	f.Keep(t)
	return f
}

// Keep makes the folder one that has a file when all others are removed.
func (f Folder) Keep(t *testing.T) {
	t.Helper()
	f.Write(t, keeper, "")
}

// Clear removes all files but the one that keeps the folder.
func (f Folder) Clear(t *testing.T) {
	t.Helper()
	files, err := os.ReadDir(f.Path)
	require.NoError(t, err)
	for _, file := range files {
		if file.Name() != keeper {
			f.Remove(t, file.Name())
		}
	}
}

// Write writes a file into a folder and creates the folder if necessary. The file is replaced in
// one step, as an operator on a slow machine would otherwise read a half-written one.
func (f Folder) Write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(f.Path, 0o755))
	hidden := filepath.Join(f.Path, "."+name) // which does not count
	require.NoError(t, os.WriteFile(hidden, []byte(text), 0o600))
	require.NoError(t, os.Rename(hidden, filepath.Join(f.Path, name)))
}

// Override writes a default template with some text replaced.
func (f Folder) Override(t *testing.T, name string, oldnew ...string) {
	t.Helper()
	text, err := fs.ReadFile(f.Defaults, name)
	require.NoError(t, err)
	changed := strings.NewReplacer(oldnew...).Replace(string(text))
	require.NotEqual(t, string(text), changed)
	f.Write(t, name, changed)
}

// Remove removes a file.
func (f Folder) Remove(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(f.Path, name)))
}
