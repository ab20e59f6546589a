// Package page maintains the pages of docs/ that tests generate from the behaviour of a real API
// server.
package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-cmp/cmp"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/places"
)

var update = flag.Bool("update", false, "write the page instead of comparing with it")

// Updating reports whether pages are written instead of compared with.
func Updating() bool { return *update }

// CompareOrUpdate compares text with the page docs/NAME.md, and returns an error if they differ. With the
// flag -update it writes text to the page instead.
//
// A page describes the pinned version of Kubernetes. With any other version, which TRUEUP_K8S or
// KUBEBUILDER_ASSETS may select, CompareOrUpdate compares nothing and refuses to write.
func CompareOrUpdate(ctx context.Context, name, text string) error {
	if *update {
		if err := cluster.CheckVersion(ctx); err != nil {
			return fmt.Errorf("cannot write docs/%s.md: %w", name, err)
		}
		return Write(name, text)
	}
	return Compare(ctx, name, func(written string) error {
		if diff := cmp.Diff(written, text); diff != "" {
			return fmt.Errorf("docs/%s.md is stale: run make %s\n%s", name, name, diff)
		}
		return nil
	})
}

// Write writes the page docs/NAME.md, whatever the version.
func Write(name, text string) error {
	path, err := pathOf(name)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a page for everybody to read
}

// Compare calls compare with the page docs/NAME.md, unless the version is another one.
func Compare(ctx context.Context, name string, compare func(written string) error) error {
	err := cluster.CheckVersion(ctx)
	if errors.Is(err, cluster.ErrOtherVersion) {
		fmt.Fprintf(os.Stderr, "docs/%s.md is not compared: %v\n", name, err)
		return nil
	}
	if err != nil {
		return err
	}
	written, err := Read(name)
	if err != nil {
		return err
	}
	return compare(written)
}

// Read returns the page docs/NAME.md, empty if there is none.
func Read(name string) (string, error) {
	path, err := pathOf(name)
	if err != nil {
		return "", err
	}
	written, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(written), err
}

func pathOf(name string) (string, error) {
	root, err := places.Repository()
	return filepath.Join(root, "docs", name+".md"), err
}
