// Package moduleproxy serves a checkout as a release: as a module proxy in a folder.
package moduleproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// The modules of this repository that are released together.
const (
	Library = "github.com/trueup-go/trueup"
	command = Library + "/cmd/trueup"
)

// Release writes a module proxy into the folder dir, and returns the one version that the proxy has of the library
// and of the command: the checkout root. Each call gives the version another name, as the go command keeps the content of a
// version for ever. So call Forget in the end.
func Release(dir, root string) (version string, err error) {
	now := time.Now()
	version = fmt.Sprintf("v0.0.0-checkout.%d", now.UnixNano())
	if err := write(dir, module.Version{Path: Library, Version: version}, now, root); err != nil {
		return "", err
	}
	// As before each release, the command requires the library that is released with it.
	source := filepath.Join(dir, "source")
	if err := os.CopyFS(source, os.DirFS(filepath.Join(root, "cmd", "trueup"))); err != nil {
		return "", err
	}
	if err := requireLibrary(filepath.Join(source, "go.mod"), version); err != nil {
		return "", err
	}
	return version, write(dir, module.Version{Path: command, Version: version}, now, source)
}

// requireLibrary raises the version of the library in a go.mod file.
func requireLibrary(path, version string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := modfile.Parse(path, before, nil)
	if err != nil {
		return err
	}
	if err := file.AddRequire(Library, version); err != nil {
		return err
	}
	after, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(path, after, 0o644) //nolint:gosec // as in a checkout
}

// write writes a version of a module, which is in the folder source, into the module proxy in the folder dir.
func write(dir string, version module.Version, now time.Time, source string) error {
	versions := filepath.Join(dir, filepath.FromSlash(version.Path), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version.Version, "Time": now.UTC()})
	if err != nil {
		return err
	}
	requirements, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list":                    []byte(version.Version + "\n"),
		version.Version + ".info": info,
		version.Version + ".mod":  requirements,
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o644); err != nil { //nolint:gosec // as in a proxy
			return err
		}
	}
	archive, err := os.Create(filepath.Join(versions, version.Version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(archive, version, source), archive.Close())
}

// Forget removes a version of both modules from the module cache.
func Forget(moduleCache, version string) error {
	return errors.Join(
		forget(moduleCache, module.Version{Path: Library, Version: version}),
		forget(moduleCache, module.Version{Path: command, Version: version}),
	)
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
	versions := filepath.Join(moduleCache, "cache", "download", filepath.FromSlash(version.Path), "@v")
	downloads, err := filepath.Glob(filepath.Join(versions, version.Version+".*"))
	for _, path := range append(downloads, extracted) {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
