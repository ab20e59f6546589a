package tutorial_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/trueup-go/trueup/test/harness/places"
)

// library is the module of this repository.
const library = "github.com/trueup-go/trueup"

// releaseCheckout writes a module proxy into the folder dir. It has one version of the library: this checkout. Each
// call gives the version another name, as the go command keeps the content of a version for ever. So
// releaseCheckout also removes the version from the module cache when the test ends.
func releaseCheckout(t *testing.T, dir, moduleCache string) {
	t.Helper()
	root, err := places.Repository()
	require.NoError(t, err)
	now := time.Now()
	version := module.Version{Path: library, Version: fmt.Sprintf("v0.0.0-tutorial.%d", now.UnixNano())}
	versions := filepath.Join(dir, filepath.FromSlash(library), "@v")
	require.NoError(t, os.MkdirAll(versions, 0o755))

	info, err := json.Marshal(map[string]any{"Version": version.Version, "Time": now.UTC()})
	require.NoError(t, err)
	requirements, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for name, content := range map[string][]byte{
		"list":                    []byte(version.Version + "\n"),
		version.Version + ".info": info,
		version.Version + ".mod":  requirements,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(versions, name), content, 0o644)) //nolint:gosec // as in a proxy
	}
	archive, err := os.Create(filepath.Join(versions, version.Version+".zip"))
	require.NoError(t, err)
	require.NoError(t, errors.Join(zip.CreateFromDir(archive, version, root), archive.Close()))
	t.Cleanup(func() { require.NoError(t, forget(moduleCache, version)) })
}

// forget removes a version from the module cache, whose folders are read-only.
func forget(moduleCache string, version module.Version) error {
	extracted := filepath.Join(moduleCache, filepath.FromSlash(version.Path)+"@"+version.Version)
	err := filepath.WalkDir(extracted, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755) //nolint:gosec // a folder
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	downloads, err := filepath.Glob(filepath.Join(moduleCache, "cache", "download", filepath.FromSlash(version.Path), "@v", version.Version+".*"))
	for _, path := range append(downloads, extracted) {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
