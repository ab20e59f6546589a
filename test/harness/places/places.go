// Package places finds the folders that tests and tools work in.
package places

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// anchor is a file of the repository, relative to the root.
var anchor = filepath.Join("tools", "cluster", "go.mod")

// Cache returns the folder in the user's cache for this repository's programs and local servers,
// and creates it if necessary.
func Cache() (string, error) {
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("cannot name the cache: %w", err)
		}
		base = filepath.Join(home, ".cache")
	}
	dir, err := filepath.Abs(filepath.Join(base, "trueup"))
	if err != nil {
		return "", fmt.Errorf("cannot name the cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot create the cache: %w", err)
	}
	return dir, nil
}

// Repository returns the root of the checkout: the folder that contains tools/, above the working
// directory (in a test, the package's folder) or, failing that, above this source file.
func Repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot name the working directory: %w", err)
	}
	_, file, _, _ := runtime.Caller(0)
	for _, start := range []string{dir, filepath.Dir(file)} {
		for dir := start; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, anchor)); err == nil {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("cannot find %s above %s: run inside the repository", anchor, dir)
}
