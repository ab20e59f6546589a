// Package broken builds the example operators with a library that is broken on purpose. Chaos has to find each of these
// builds.
package broken

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trueup-go/trueup/test/harness/places"
	"github.com/trueup-go/trueup/test/trials/chaos/trial"
)

//go:embed *.patch
var patches embed.FS

// operators are those that a broken library is built into.
var operators = []string{"application", "reversewordsapp", "site", "bookstore", "postgreswriter"}

// Names returns the names of all patches.
func Names() ([]string, error) {
	files, err := patches.ReadDir(".")
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".patch"))
	}
	return names, err
}

// Build applies a patch to a copy of this checkout, and builds the operators there. It returns the folder of the
// programs, and a function that removes the folder.
func Build(ctx context.Context, name string) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "trueup-broken-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	checkout := filepath.Join(dir, "checkout")
	if err = Patch(ctx, name, checkout); err == nil {
		err = trial.BuildOperators(ctx, checkout, dir, operators)
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// Patch copies the library and the examples of this checkout into a folder, and applies a patch.
func Patch(ctx context.Context, name, checkout string) error {
	text, err := patches.ReadFile(name + ".patch")
	if err != nil {
		names, _ := Names()
		return fmt.Errorf("there is no broken build %q; there are %s", name, strings.Join(names, ", "))
	}
	root, err := places.Repository()
	if err != nil {
		return err
	}
	if err := copyCode(root, checkout); err != nil {
		return fmt.Errorf("cannot copy the checkout: %w", err)
	}
	apply := exec.CommandContext(ctx, "git", "apply", "-")
	apply.Dir, apply.Stdin = checkout, strings.NewReader(string(text))
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot apply %s.patch: %w: %s", name, err, out)
	}
	return nil
}

// copyCode copies what the operators are built from.
func copyCode(root, checkout string) error {
	for _, part := range []string{"ensure", "finalizer", "hash", "internal", "predicates", "status", "examples"} {
		if err := os.CopyFS(filepath.Join(checkout, part), os.DirFS(filepath.Join(root, part))); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat([]string{"go.mod", "go.sum", "doc.go"}) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(checkout, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
