package walkthrough

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// library is the module of this repository.
const library = "github.com/trueup-go/trueup"

// releaseCheckout writes a module proxy into the folder dir, and returns the one version of the library that the proxy
// has: the checkout root. Each call gives the version another name, as the go command keeps the content of a version
// for ever. So call forget in the end.
func releaseCheckout(dir, root string) (module.Version, error) {
	now := time.Now()
	version := module.Version{Path: library, Version: fmt.Sprintf("v0.0.0-checkout.%d", now.UnixNano())}
	versions := filepath.Join(dir, filepath.FromSlash(library), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return version, err
	}
	info, err := json.Marshal(map[string]any{"Version": version.Version, "Time": now.UTC()})
	if err != nil {
		return version, err
	}
	requirements, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return version, err
	}
	for name, content := range map[string][]byte{
		"list":                    []byte(version.Version + "\n"),
		version.Version + ".info": info,
		version.Version + ".mod":  requirements,
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o644); err != nil { //nolint:gosec // as in a proxy
			return version, err
		}
	}
	archive, err := os.Create(filepath.Join(versions, version.Version+".zip"))
	if err != nil {
		return version, err
	}
	return version, errors.Join(zip.CreateFromDir(archive, version, root), archive.Close())
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
